import { Lab } from "./lab_view.js";
import { listenToFeeds } from "./listen.js";

// The lab as a Streamlit component; like the explorer's (component.js) it has no data of its own.
const LAB_FEEDS = ["headscope.lab_before", "headscope.lab_after", "headscope.lab_feed_before", "headscope.lab_feed_after"];
const mountedLabs = new WeakMap();

export default function (component) {
  const { parentElement } = component;
  let mounted = mountedLabs.get(parentElement);
  if (!mounted) {
    mounted = { component };
    mounted.lab = new Lab(parentElement, (state) => mounted.component.setStateValue("lab", state));
    mounted.stop = listenToFeeds(LAB_FEEDS, (bytes, name) =>
      mounted.lab.take(bytes, name.endsWith("before") ? "before" : "after"),
    );
    mountedLabs.set(parentElement, mounted);
  }
  mounted.component = component;
  clearTimeout(mounted.leaving);
  return () => {
    mounted.leaving = setTimeout(() => {
      mounted.stop();
      mounted.lab.destroy();
      mountedLabs.delete(parentElement);
    }, 100);
  };
}
