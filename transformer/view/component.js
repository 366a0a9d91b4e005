import { mountExplorer } from "./explorer.js";
import { listenToFeeds } from "./listen.js";
import { keepMounted } from "./mount.js";

// The Streamlit component. It gets no data of its own: this script is sent to a browser once, while the pictures and
// numbers come through small components beside it (feed.js).
const FEEDS = ["headscope.pack", "headscope.feed"];

export default function (component) {
  const { leave } = keepMounted(component, (parent) => {
    const made = {};
    const explorer = mountExplorer(parent, { onState: (state) => made.component.setStateValue("view", state) });
    const stop = listenToFeeds(FEEDS, (bytes) => explorer.show(bytes));
    made.destroy = () => {
      stop();
      explorer.destroy();
    };
    return made;
  });
  return leave;
}
