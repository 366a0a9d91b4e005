// The variances of q and k while one types: from a pass of the engine without switches.
import { isQuiet, markFresh } from "../live/live.js";
import { ownOf } from "./from_trace.js";

const CHANNEL = "why"; // of the engine: the newest text wins

/**
 * Lets the picture follow the sentence. `show` takes the page's data, whose numbers of the sentence count while the
 * engine has none.
 * @param {import("./component.js").Why} view
 * @param {import("../live/live.js").Live} live
 */
export function liveWhy(view, live) {
  let data = null; // the page's
  let trace = null; // of the engine
  let asked = ""; // what is drawn or being computed

  const draw = () => {
    if (trace) {
      view.show({ ...data, ...ownOf(trace, data.texts) });
    } else if (data.own) {
      view.show(data);
      view.element.style.removeProperty("--hs-stale");
    }
  };

  const follow = async () => {
    const { engine, sentence, limit } = live;
    if (!data) return;
    if (engine?.about?.name !== data.saved.model) {
      [trace, asked] = [null, ""];
      draw();
      return;
    }
    const wanted = JSON.stringify([sentence, limit]);
    if (!sentence.source.trim() || wanted === asked) return;
    asked = wanted;
    try {
      const found = await engine.trace({ ...sentence, limit, channel: CHANNEL });
      if (wanted !== asked) return;
      trace = found;
      draw();
      markFresh(view.element);
    } catch (error) {
      if (!isQuiet(error)) throw error;
      if (wanted === asked) asked = "";
    }
  };

  const show = (given) => {
    data = given;
    draw();
    follow();
  };
  return { show, stop: live.onChange(follow) };
}
