import { TrainingView } from "./view.js";
import { fedComponent } from "../host/streamlit.js";

// Runs during training. training_pack.py tells how a page mounts it.
export default fedComponent(["headscope.training_feed"], (parent, kept) => {
  const view = new TrainingView(parent, (name, value) => kept.component.setTriggerValue(name, value));
  return { take: (bytes) => view.take(bytes), destroy: () => view.destroy() };
});
