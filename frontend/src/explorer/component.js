import { mountExplorer } from "./explorer.js";
import { liveExplorer } from "./live.js";
import { readPack } from "../core/pack.js";
import { feeds, keepMounted, listenToFeeds } from "../host/streamlit.js";
import { appLive } from "../live/live.js";

// The Streamlit component. It gets no data: this script is sent to a browser once; the pictures and numbers come
// through small components beside it (host/feed.js).
const FEEDS = ["headscope.pack", "headscope.feed"];
// Messages of the slider over a training (formation/component.js): its state, or the head to choose.
const FORMATION = ["headscope.recorded", "headscope.pick"];

export default function (component) {
  return keepMounted(component, (parent, mounted) => {
    const handles = { component: mounted };
    const explorer = mountExplorer(parent, {
      onState: (state) => handles.component.setStateValue("view", state),
      onFormation: (open) => {
        feeds().formationAsked = open ? performance.now() : null;
        handles.component.setTriggerValue("formation", open);
      },
    });
    const follow = liveExplorer(explorer, appLive());
    const stops = [
      follow.stop,
      listenToFeeds(FEEDS, (bytes) => followed(follow, bytes) || explorer.show(bytes)),
      listenToFeeds(FORMATION, (message, name) =>
        name === FORMATION[0] ? explorer.recorded(message) : explorer.pick(message),
      ),
    ];
    handles.destroy = () => {
      for (const stop of stops) stop();
      explorer.destroy();
    };
    return handles;
  }).leave;
}

// Whether the engine draws what a pack of Python is about.
function followed(follow, bytes) {
  try {
    return follow.order(readPack(bytes).header);
  } catch {
    return false; // the explorer says what is wrong with it
  }
}
