// The measures while one types and presses switches: from the passes of the Lab (lab/live.js).
import { comparisonOf } from "../lab/comparison.js";
import { markFresh } from "../live/live.js";
import { measuresOf } from "./from_trace.js";

/**
 * Lets the measures follow the Lab. `show` takes the page's data, whose numbers count while the engine has none.
 * @param {import("./component.js").Measures} view
 * @param {import("../live/live.js").Live} live
 */
export function liveMeasures(view, live) {
  const comparison = comparisonOf(live);
  let data = null; // the page's
  let found = { passes: null, texts: null, numbers: null }; // of the engine

  const draw = () => {
    const { passes } = comparison;
    if (passes && data) {
      if (found.passes !== passes) markFresh(view.element);
      if (found.passes !== passes || found.texts !== data.texts)
        found = { passes, texts: data.texts, numbers: measuresOf(passes, live.engine.about.config, data.texts) };
      view.show({ ...data, ...found.numbers });
    } else if (data?.before) {
      view.show(data);
      view.element.style.removeProperty("--hs-stale");
    }
  };

  const show = (given) => {
    data = given;
    draw();
  };
  return { show, stop: comparison.onChange(draw) };
}
