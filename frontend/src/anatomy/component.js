import { liveAnatomy } from "./live.js";
import { AnatomyView } from "./view.js";
import { fedComponent } from "../host/streamlit.js";
import { appLive } from "../live/live.js";

const FEEDS = ["trace", "open", "place", "weights"].map((name) => "headscope.anatomy_" + name);

export default fedComponent(FEEDS, (parent, kept) => {
  const view = new AnatomyView(parent, (state) => kept.component.setStateValue("anatomy", state));
  const stop = liveAnatomy(view, appLive());
  const destroy = () => {
    stop();
    view.destroy();
  };
  return { take: (bytes) => view.take(bytes), destroy };
});
