// The activity of the neurons on the site; the page's other parts need the server.
import { Activity } from "../../feedforward/component.js";
import { shapeOf } from "../../feedforward/from_trace.js";
import { liveActivity } from "../../feedforward/live.js";
import { ACTIVITY } from "../../state/generated.js";
import { followLink } from "./picture.js";

export const page = {
  name: "feedforward",
  waiting: () => "waiting",
  mount(root, frame) {
    const view = new Activity(frame.shadow(root, "feedforward"));
    const threshold = Math.round(100 * ACTIVITY.first[shapeOf(frame.about.config)]);
    const start = { stack: "encoder", layer: 1, threshold, panel: "" };
    const allowed = { stack: ["encoder", "decoder"], panel: ["few"] };
    return followLink(frame, view, liveActivity(view, frame.live), { name: "state", start, allowed });
  },
};
