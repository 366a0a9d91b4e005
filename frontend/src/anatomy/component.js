import { liveAnatomy } from "./live.js";
import { AnatomyView } from "./view.js";
import { listenToFeeds, keepMounted } from "../host/streamlit.js";
import { appLive } from "../live/live.js";

// The anatomy as a Streamlit component; like the explorer's (explorer/component.js) it gets no data.
const FEEDS = ["trace", "open", "place", "weights"].map((name) => "headscope.anatomy_" + name);

export default function (component) {
  const { leave } = keepMounted(component, (parent) => {
    const made = {};
    const view = new AnatomyView(parent, (state) => made.component.setStateValue("anatomy", state));
    const stops = [liveAnatomy(view, appLive()), listenToFeeds(FEEDS, (bytes) => view.take(bytes))];
    made.destroy = () => {
      for (const stop of stops) stop();
      view.destroy();
    };
    return made;
  });
  return leave;
}
