import { mountExplorer } from "./explorer.js";

// The Streamlit component: called again with new data on every rerun that changes it, keeps what is mounted.
const mountedExplorers = new WeakMap();

export default function (component) {
  const { data, parentElement } = component;
  let mounted = mountedExplorers.get(parentElement);
  if (!mounted) {
    mounted = { handle: null, component, stop: null };
    mounted.handle = mountExplorer(parentElement, {
      onState: (state) => mounted.component.setStateValue("view", state),
    });
    mounted.stop = listenToFeeds((bytes) => mounted.handle.feed(bytes));
    mountedExplorers.set(parentElement, mounted);
  }
  mounted.component = component;
  clearTimeout(mounted.leaving);
  if (data && data !== mounted.data) mounted.handle.show(data);
  mounted.data = data;
  // A rerun may clean up and call again at once: only what stays away is taken down.
  return () => {
    mounted.leaving = setTimeout(() => {
      mounted.stop();
      mounted.handle.destroy();
      mountedExplorers.delete(parentElement);
    }, 100);
  };
}

// The exact numbers of the chosen head come through a second, invisible component (feed.js).
function listenToFeeds(take) {
  window.__headscopeFeeds = window.__headscopeFeeds || new EventTarget();
  const feeds = window.__headscopeFeeds;
  const listener = (event) => take(event.detail);
  feeds.addEventListener("feed", listener);
  if (feeds.last) take(feeds.last);
  return () => feeds.removeEventListener("feed", listener);
}
