// The activity of the neurons while one types: counted in the page.
import { followLive } from "../live/view.js";
import { activityOf } from "./from_trace.js";

/** @param {import("./component.js").Activity} view @param {import("../live/live.js").Live} live */
export function liveActivity(view, live) {
  return followLive(view, live, async (engine, asked) => {
    const trace = await engine.trace({ ...asked, channel: "sentence" });
    return activityOf(trace, engine.about.config);
  });
}
