import { mountExplorer } from "./explorer.js";
import { listenToFeeds } from "./listen.js";

// The Streamlit component: called again on reruns, keeps what is mounted. It gets no data of its own: this script is
// sent to a browser once, while the pictures and numbers come through small components beside it (feed.js).
const FEEDS = ["headscope.pack", "headscope.feed"];
const mountedExplorers = new WeakMap();

export default function (component) {
  const { parentElement } = component;
  let mounted = mountedExplorers.get(parentElement);
  if (!mounted) {
    mounted = { handle: null, component, stop: null };
    mounted.handle = mountExplorer(parentElement, {
      onState: (state) => mounted.component.setStateValue("view", state),
    });
    mounted.stop = listenToFeeds(FEEDS, (bytes) => mounted.handle.show(bytes));
    mountedExplorers.set(parentElement, mounted);
  }
  mounted.component = component;
  clearTimeout(mounted.leaving);
  // A rerun may clean up and call again at once: only what stays away is taken down.
  return () => {
    mounted.leaving = setTimeout(() => {
      mounted.stop();
      mounted.handle.destroy();
      mountedExplorers.delete(parentElement);
    }, 100);
  };
}
