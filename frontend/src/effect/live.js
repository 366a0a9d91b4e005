// The effect of the switches while one types and presses them: from the passes of the Lab.
import { followComparison } from "../lab/comparison.js";
import { inWords, sharedTexts } from "../lab/words.js";
import { effectOf, hidesAll, rescaled } from "./numbers.js";

/** @param {import("./component.js").Effect} view @param {import("../live/live.js").Live} live */
export function liveEffect(view, live) {
  return followComparison(view, live, "written", ({ passes, written }, texts) => {
    const { config } = live.engine.about;
    const { switches } = passes;
    const t = sharedTexts(texts);
    return {
      effect: written.before ? effectOf(passes, written) : null,
      in_words: Object.keys(switches).length ? inWords(t, switches, config) : "",
      hidden: switches.hide ? inWords(t, hidesAll(switches), config) : "",
      causal: config.causal,
      rescaled: rescaled(switches, config, passes.before.cross.scale[0][0]),
    };
  });
}
