// Everything that is here because of how Streamlit behaves. Each part says what Streamlit does; host/streamlit.test.js
// and tests/browser/test_leaving.py hold it to that. Nothing else in frontend/ knows Streamlit's page.

// -- Components stay over reruns ---------------------------------------------------------------------------------------
// Streamlit calls a component again on every rerun, and may clean up and call again at once. What `make` made for the
// parent element is kept and handed out again, and only what stays away is taken down, by its destroy().

const CLEAN_UP = 100; // milliseconds after which a component that was cleaned up is not coming back

const everMounted = new WeakMap();

// make(parent, component): both what it is made in and, for what speaks while it is being made, the component; later
// ones come as its `component`.
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

// Streamlit takes a component down when another part of the page is looked at: what was set in it is remembered on the
// window, under a name, for coming back.
export function memoryOf(name, start = {}) {
  return ((window.__headscopeMemory ??= {})[name] ??= start);
}

// -- Feeds -------------------------------------------------------------------------------------------------------------
// Streamlit sends a component's script again with every change of its data. Pictures are large scripts with no data of
// their own; their data comes through small invisible components (feed.js) and this registry on the window, whichever of
// them is mounted first.

export function feeds() {
  return (window.__headscopeFeeds ??= Object.assign(new EventTarget(), { kept: new Map() }));
}

// keep: whoever starts to listen later is told, too.
export function tellFeed(name, data, keep = false) {
  if (keep) feeds().kept.set(name, data);
  feeds().dispatchEvent(new CustomEvent("feed", { detail: { name, data } }));
}

// Hands over what the feeds of these names bring: what is there already, then whatever comes. Returns how to stop.
export function listenToFeeds(names, take) {
  const listener = ({ detail }) => names.includes(detail.name) && take(detail.data, detail.name);
  feeds().addEventListener("feed", listener);
  for (const name of names) if (feeds().kept.has(name)) take(feeds().kept.get(name), name);
  return () => feeds().removeEventListener("feed", listener);
}

// -- History -----------------------------------------------------------------------------------------------------------
// Streamlit adds an entry to the browser's history whenever a page writes its address, here with every click: the back
// button then walks through addresses that the page overwrites at once, and seems dead. An address of the same page
// takes the place of the one before; another page is an entry of its own, as ever.

function shortenHistory() {
  if (window.__headscopeHistory) return;
  window.__headscopeHistory = true;
  const push = window.history.pushState.bind(window.history);
  window.history.pushState = (state, title, address) => {
    const same = address && new URL(address, document.baseURI).pathname === window.location.pathname;
    if (same) window.history.replaceState(state, title, address);
    else push(state, title, address);
    pendingNavigation().path = window.location.pathname; // changed by the page, not by the buttons of the browser
  };
}

// -- Leaving a page ----------------------------------------------------------------------------------------------------
// Streamlit's browser side goes on naming the old page in all that it sends until the new page's first message has come
// back. A server that reads "another page, please" and then something of the old page obeys both: it takes the session
// back to the page that was left, or, where only a part of it was asked for, to nothing at all, and the new page stays
// blank. Streamlit stops its own clocks over that time; this stops ours, and every report that waits for a pause.

const PAGE_LINKS = '[data-testid="stPageLink"] a';
const LONGEST = 10000; // milliseconds after which nobody is on the way any more, whatever became of it
const RETRY = 100; // milliseconds until what was held back is tried again

// The state of the way, one for all components of the page: until; from, the path that is being left, or null where the
// address has changed already (back and forward) and only a new component tells of the arrival; path, where we are.
function pendingNavigation() {
  if (window.__headscopeLeaving) return window.__headscopeLeaving;
  const state = { until: 0, from: null, path: window.location.pathname };
  window.__headscopeLeaving = state;
  const goes = (from) => Object.assign(state, { from, until: performance.now() + LONGEST });
  const clicked = ({ target }) => {
    const link = target.closest && target.closest(PAGE_LINKS);
    if (link && pageOfLink(link) !== currentPage()) goes(window.location.pathname);
  };
  document.addEventListener("click", clicked, true);
  window.addEventListener("popstate", () => {
    if (window.location.pathname !== state.path) goes(null);
    state.path = window.location.pathname;
  });
  return state;
}

// Streamlit's links name their page relatively, the first page by nothing.
function pageOfLink(link) {
  return link.getAttribute("href").split("?")[0];
}

function currentPage() {
  const last = window.location.pathname.replace(/\/+$/, "").split("/").pop();
  return [...document.querySelectorAll(PAGE_LINKS)].map(pageOfLink).includes(last) ? last : "";
}

function isLeaving() {
  const { until, from } = pendingNavigation();
  return performance.now() < until && (from === null || from === window.location.pathname);
}

// A component was made anew.
function noteArrival() {
  const state = pendingNavigation();
  if (state.from === null) state.until = 0;
  state.path = window.location.pathname;
}

// component: as Streamlit hands it over. Returns it with senders that hold back; of what is held back under one name the
// last is sent if nobody went after all. kept: {gone} says when it is taken down, and lasts over calls of the component.
function holdWhileLeaving(component, kept) {
  const waiting = (kept.waiting ??= new Map());
  kept.raw = component;
  const sender = (how) =>
    function send(name, value) {
      const key = `${how} ${name}`;
      clearTimeout(waiting.get(key));
      if (kept.gone) return;
      if (isLeaving())
        waiting.set(
          key,
          setTimeout(() => send(name, value), RETRY),
        );
      else kept.raw[how](name, value);
    };
  return { ...component, setStateValue: sender("setStateValue"), setTriggerValue: sender("setTriggerValue") };
}

// -- Links of the page -------------------------------------------------------------------------------------------------
// A component cannot go to another page of the app without loading it anew; Streamlit's own links can. Follows the first
// of those that the page made in the container of this key.
export function followPageLink(key) {
  const link = /** @type {HTMLElement | null} */ (document.querySelector(`.st-key-${CSS.escape(key)} ${PAGE_LINKS}`));
  if (link) link.click();
}

// -- plotly ------------------------------------------------------------------------------------------------------------
// Streamlit brings plotly, and loads it once a chart of its own is on the page, however small (pages keep a hidden one).
const PLOTLY_PATIENCE = 30_000; // milliseconds

export function plotlyReady() {
  if (window.Plotly) return Promise.resolve(window.Plotly);
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const look = () => {
      if (window.Plotly) resolve(window.Plotly);
      else if (performance.now() - start > PLOTLY_PATIENCE) reject(new Error("missing"));
      else setTimeout(look, 15);
    };
    look();
  });
}
