// The tokens of the sentence on the curves of the encodings, while one types.
import { followLive } from "../live/view.js";

/** @param {import("./component.js").Positions} view @param {import("../live/live.js").Live} live */
export function livePositions(view, live) {
  return followLive(view, live, async (engine, { source, limit }) => {
    const { labels } = await engine.tokens({ text: source, limit });
    return labels;
  });
}
