import { Lab } from "./lab.js";
import { liveLab } from "./live.js";
import { listenToFeeds, keepMounted } from "../host/streamlit.js";
import { appLive } from "../live/live.js";

// The lab as a Streamlit component; like the explorer's (explorer/component.js) it gets no data.
const FEEDS = ["before", "after", "says", "feed_before", "feed_after"].map((name) => "headscope.lab_" + name);

export default function (component) {
  return keepMounted(component, (parent) => {
    const handles = {};
    const lab = new Lab(parent, (state) => handles.component.setStateValue("lab", state));
    const follow = liveLab(lab, appLive());
    const stop = listenToFeeds(FEEDS, follow.take);
    handles.destroy = () => {
      stop();
      follow.stop();
      lab.destroy();
    };
    return handles;
  }).leave;
}
