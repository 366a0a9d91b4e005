// The measures while one types and presses switches: from the passes of the Lab.
import { followComparison } from "../lab/comparison.js";
import { measuresOf } from "./from_trace.js";

/** @param {import("./component.js").Measures} view @param {import("../live/live.js").Live} live */
export const liveMeasures = (view, live) =>
  followComparison(view, live, "passes", ({ passes }, texts) => measuresOf(passes, live.engine.about.config, texts));
