// What components say while somebody is on the way to another page.
//
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
export function noteArrival() {
  const state = pendingNavigation();
  if (state.from === null) state.until = 0;
  state.path = window.location.pathname;
}

// The path was changed by Streamlit's page, not by the buttons of the browser.
export function noteMove() {
  pendingNavigation().path = window.location.pathname;
}

// component: as Streamlit hands it over. Returns it with senders that hold back; of what is held back under one name the
// last is sent if nobody went after all. kept: {gone} says when it is taken down, and lasts over calls of the component.
export function holdWhileLeaving(component, kept) {
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
