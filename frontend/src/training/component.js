import { TrainingView } from "./view.js";
import { listenToFeeds, keepMounted } from "../host/streamlit.js";

// Runs during training, as a Streamlit component; like the explorer's (explorer/component.js) it gets no data.
// training_pack.py tells how a page mounts it.
const FEEDS = ["headscope.training_feed"];

export default function (component) {
  return keepMounted(component, (parent, mounted) => {
    const handles = { component: mounted }; // a pack that is here already may be answered at once
    const view = new TrainingView(parent, (name, value) => handles.component.setTriggerValue(name, value));
    const stop = listenToFeeds(FEEDS, (bytes) => view.take(bytes));
    handles.destroy = () => {
      stop();
      view.destroy();
    };
    return handles;
  }).leave;
}
