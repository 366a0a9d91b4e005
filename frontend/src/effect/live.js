// The effect of the switches while one types and presses them: from the passes of the Lab (lab/comparison.js).
import { comparisonOf } from "../lab/comparison.js";
import { inWords, sharedTexts } from "../lab/words.js";
import { markFresh } from "../live/live.js";
import { effectOf, hidesAll, rescaled } from "./numbers.js";

/**
 * Lets the view follow the Lab. `show` takes what the page says beside the numbers: {big, texts}.
 * @param {import("./component.js").Effect} view
 * @param {import("../live/live.js").Live} live
 */
export function liveEffect(view, live) {
  const comparison = comparisonOf(live);
  let about = null;
  let written = null; // what is drawn

  const draw = () => {
    const { passes } = comparison;
    view.element.toggleAttribute("data-old", !comparison.written);
    if (!about || !passes || !comparison.written) return;
    if (written !== comparison.written) markFresh(view.element);
    ({ written } = comparison);
    const { config } = live.engine.about;
    const { switches } = passes;
    const t = sharedTexts(about.texts);
    view.show({
      ...about,
      effect: written.before ? effectOf(passes, written) : null,
      in_words: Object.keys(switches).length ? inWords(t, switches, config) : "",
      hidden: switches.hide ? inWords(t, hidesAll(switches), config) : "",
      causal: config.causal,
      rescaled: rescaled(switches, config, passes.before.cross.scale[0][0]),
    });
  };

  const show = (given) => {
    about = given;
    draw();
  };
  return { show, stop: comparison.onChange(draw) };
}
