import { TrainingView } from "./view.js";
import { listenToFeeds, keepMounted } from "../host/streamlit.js";

// Runs during training, as a Streamlit component; like the explorer's (explorer/component.js) it gets no data.
// training_pack.py tells how a page mounts it.
const FEEDS = ["headscope.training_feed"];

export default function (component) {
  const { leave } = keepMounted(component, (parent, component) => {
    const made = { component: component }; // a pack that is here already may be answered at once
    const view = new TrainingView(parent, (name, value) => made.component.setTriggerValue(name, value));
    const stop = listenToFeeds(FEEDS, (bytes) => view.take(bytes));
    made.destroy = () => {
      stop();
      view.destroy();
    };
    return made;
  });
  return leave;
}
