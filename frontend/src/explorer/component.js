import { Explorer } from "./explorer.js";
import { liveExplorer } from "./live.js";
import { readPack } from "../core/pack.js";
import { fedComponent, feeds } from "../host/streamlit.js";
import { appLive } from "../live/live.js";

// Packs of the page; and messages of the slider over a training (formation/component.js): its state, the head to choose.
const FEEDS = ["pack", "feed", "recorded", "pick"].map((name) => "headscope." + name);

export default fedComponent(FEEDS, (parent, kept) => {
  const explorer = new Explorer(parent, {
    onState: (state) => kept.component.setStateValue("view", state),
    onFormation: (open) => {
      feeds().formationAsked = open ? performance.now() : null;
      kept.component.setTriggerValue("formation", open);
    },
  });
  const follow = liveExplorer(explorer, appLive());
  const take = (data, name) => {
    if (name === "headscope.recorded") explorer.recorded(data);
    else if (name === "headscope.pick") explorer.pick(data);
    else if (!followed(follow, data)) explorer.show(data);
  };
  const destroy = () => {
    follow.stop();
    explorer.destroy();
  };
  return { take, destroy };
});

// Whether the engine draws what a pack of Python is about.
function followed(follow, bytes) {
  try {
    return follow.order(readPack(bytes).header);
  } catch {
    return false; // the explorer says what is wrong with it
  }
}
