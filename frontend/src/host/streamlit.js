// Everything that is here because of how Streamlit behaves. Each part says what Streamlit does; host/streamlit.test.js
// and tests/browser/test_leaving.py hold it to that. Nothing else in frontend/ knows Streamlit's page.

// -- Components stay over reruns ---------------------------------------------------------------------------------------
// Streamlit calls a component again on every rerun, and may clean up and call again at once. What `make` built for the
// parent element is kept and returned again; destroy() takes it down only if the component does not come back.

const CLEAN_UP = 100; // milliseconds after which a cleaned-up component does not come back

const everMounted = new WeakMap();

// make(parent, component): the element to build in, and the component for code that reports while it is built; later
// components are set as its `component`.
export function keepMounted(component, make) {
  shortenHistory();
  const { parentElement } = component;
  let mounted = everMounted.get(parentElement);
  if (!mounted) {
    noteArrival();
    mounted = { sender: {} };
    mounted.kept = make(parentElement, holdWhileLeaving(component, mounted.sender));
    everMounted.set(parentElement, mounted);
  }
  mounted.kept.component = holdWhileLeaving(component, mounted.sender);
  clearTimeout(mounted.leaving);
  const leave = () => {
    mounted.leaving = setTimeout(() => {
      mounted.sender.gone = true;
      mounted.kept.destroy();
      everMounted.delete(parentElement);
    }, CLEAN_UP);
  };
  return { kept: mounted.kept, leave };
}

// Streamlit removes a component when another part of the page is shown. Its settings are remembered on the window,
// under a name, for when it comes back.
export function memoryOf(name, start = {}) {
  return ((window.__headscopeMemory ??= {})[name] ??= start);
}

// -- Feeds -------------------------------------------------------------------------------------------------------------
// Streamlit sends a component's script again with every change of its data. Pictures are large scripts without data;
// their data comes through small invisible components (feed.js) and this registry on the window. The order in which
// they are mounted does not matter.

export function feeds() {
  return (window.__headscopeFeeds ??= Object.assign(new EventTarget(), { kept: new Map() }));
}

// keep: later listeners are told, too.
export function tellFeed(name, data, keep = false) {
  if (keep) feeds().kept.set(name, data);
  feeds().dispatchEvent(new CustomEvent("feed", { detail: { name, data } }));
}

// Passes on what the feeds of these names bring: what has arrived already, then everything that follows. Returns a
// function that stops it.
export function listenToFeeds(names, take) {
  const listener = ({ detail }) => names.includes(detail.name) && take(detail.data, detail.name);
  feeds().addEventListener("feed", listener);
  for (const name of names) if (feeds().kept.has(name)) take(feeds().kept.get(name), name);
  return () => feeds().removeEventListener("feed", listener);
}

// A component without data of its own, so that its script is sent to a browser once. make(parent, kept): gives {take(data,
// name) for what its feeds bring, destroy()}; kept.component: what it reports to.
export function fedComponent(names, make) {
  const mount = (parent, component) => {
    const kept = { component, destroy() {} };
    const { take, destroy } = make(parent, kept);
    const stop = listenToFeeds(names, take);
    kept.destroy = () => {
      stop();
      destroy();
    };
    return kept;
  };
  return (component) => keepMounted(component, mount).leave;
}

// -- History -----------------------------------------------------------------------------------------------------------
// Streamlit adds an entry to the browser's history whenever a page writes its address, here with every click. An address
// of the same page that follows within a moment, as while somebody walks through cells or drags a slider, replaces the
// last one; so the back button returns to what was looked at. Python reads the address again then.

const MOMENT = 1500; // milliseconds

function shortenHistory() {
  if (window.__headscopeHistory) return;
  window.__headscopeHistory = true;
  const push = window.history.pushState.bind(window.history);
  let last = -Infinity;
  window.history.pushState = (state, title, address) => {
    const same = address && new URL(address, document.baseURI).pathname === window.location.pathname;
    if (same && pendingNavigation().from !== null && isLeaving()) return; // the server clears it before the next page
    if (same && performance.now() - last < MOMENT) window.history.replaceState(state, title, address);
    else push(state, title, address);
    last = performance.now();
    pendingNavigation().path = window.location.pathname; // changed by the page, not by the browser's buttons
  };
}

// -- Leaving a page ----------------------------------------------------------------------------------------------------
// Until the first message of the new page has come, Streamlit's browser side still sends the name of the old page. A
// server that gets "another page, please" and then a message of the old page obeys both: the session returns to the old
// page, or, if only a part of it was asked for, to nothing, and the new page stays blank. Streamlit stops its own
// timers for that time; this code stops ours, and all delayed reports.

const PAGE_LINKS = '[data-testid="stPageLink"] a';
const LONGEST = 10000; // milliseconds after which the navigation counts as over, whatever happened
const RETRY = 100; // milliseconds until held-back reports are tried again

// The state of the navigation, one for all components of the page: until; from, the path that is being left, or null if
// the address has changed already (back and forward) and only a new component tells that the new page is there; path,
// the current path.
function pendingNavigation() {
  if (window.__headscopeLeaving) return window.__headscopeLeaving;
  const state = { until: 0, from: null, path: window.location.pathname };
  window.__headscopeLeaving = state;
  const clicked = ({ target }) => {
    const link = target.closest && target.closest(PAGE_LINKS);
    if (link && pageOfLink(link) !== currentPage()) leaves();
  };
  document.addEventListener("click", clicked, true);
  window.addEventListener("popstate", () => {
    if (window.location.pathname !== state.path) leaves(null);
    state.path = window.location.pathname;
  });
  return state;
}

// The page at the path `from` is being left.
export function leaves(from = window.location.pathname) {
  Object.assign(pendingNavigation(), { from, until: performance.now() + LONGEST });
}

// Streamlit's links are relative; the link of the first page is empty.
function pageOfLink(link) {
  return link.getAttribute("href").split("?")[0];
}

function currentPage() {
  const last = window.location.pathname.replace(/\/+$/, "").split("/").pop();
  const pages = document.getElementById("hs-content")?.dataset.pages ?? ""; // Python's list, frame.py
  return pages.split(" ").includes(last) ? last : "";
}

// The path that all pages and files of the app stand below.
export function basePath() {
  const path = window.location.pathname.replace(/\/+$/, "");
  return `${path.slice(0, path.length - currentPage().length).replace(/\/+$/, "")}/`;
}

function isLeaving() {
  const { until, from } = pendingNavigation();
  return performance.now() < until && (from === null || from === window.location.pathname);
}

// A component was created.
function noteArrival() {
  const state = pendingNavigation();
  if (state.from === null) state.until = 0;
  state.path = window.location.pathname;
}

// component: from Streamlit. Returns it with senders that hold back reports during navigation. Of several reports under
// one name, the last is sent if the user stays on the page. kept: {gone} says when the component is taken down; it
// lasts over calls of the component.
function holdWhileLeaving(component, mounted) {
  const waiting = (mounted.waiting ??= new Map());
  mounted.raw = component;
  const sender = (how) =>
    function send(name, value) {
      const key = `${how} ${name}`;
      clearTimeout(waiting.get(key));
      if (mounted.gone) return;
      if (isLeaving())
        waiting.set(
          key,
          setTimeout(() => send(name, value), RETRY),
        );
      else mounted.raw[how](name, value);
    };
  return { ...component, setStateValue: sender("setStateValue"), setTriggerValue: sender("setTriggerValue") };
}

// -- Links of the page -------------------------------------------------------------------------------------------------
// A component cannot open another page of the app without reloading the app; Streamlit's own links can. Follows the
// first link in the container of this key, as soon as it is there: a figure may be drawn before the links after it.
export function followPageLink(key) {
  const start = performance.now();
  const follow = () => {
    const link = /** @type {HTMLElement | null} */ (document.querySelector(`.st-key-${CSS.escape(key)} ${PAGE_LINKS}`));
    if (link) link.click();
    else if (performance.now() - start < LONGEST) setTimeout(follow, RETRY);
  };
  follow();
}

// -- plotly ------------------------------------------------------------------------------------------------------------
// Streamlit's plotly has 4.7 MB, and arrives only with a chart of Streamlit's own. The first figure of a page loads
// ours, a third of that, which sets window.Plotly.
export const plotlyFile = {
  async address() {
    // What tells the base path may come later than a figure.
    while (!document.getElementById("hs-content")) await new Promise((done) => setTimeout(done, 15));
    return `${basePath()}engine/plotly.js`;
  },
};

export function plotlyReady() {
  if (window.Plotly) return Promise.resolve(window.Plotly);
  const memory = memoryOf("plotly");
  return (memory.loading ??= loadPlotly().finally(() => (memory.loading = null)));
}

async function loadPlotly() {
  const script = document.createElement("script");
  script.src = await plotlyFile.address();
  await new Promise((done) => {
    script.onload = script.onerror = done;
    document.head.append(script);
  });
  if (!window.Plotly) throw new Error("missing"); // Streamlit answers with its page where there is no such file
  return window.Plotly;
}
