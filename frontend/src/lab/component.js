import { Lab } from "./lab.js";
import { liveLab } from "./live.js";
import { fedComponent } from "../host/streamlit.js";
import { appLive } from "../live/live.js";

const FEEDS = ["before", "after", "says", "feed_before", "feed_after"].map((name) => "headscope.lab_" + name);

export default fedComponent(FEEDS, (parent, kept) => {
  const lab = new Lab(parent, (state) => kept.component.setStateValue("lab", state));
  const follow = liveLab(lab, appLive());
  const destroy = () => {
    follow.stop();
    lab.destroy();
  };
  return { take: follow.take, destroy };
});
