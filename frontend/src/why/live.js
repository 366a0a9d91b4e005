// The variances of q and k while one types: from a pass of the engine without switches.
import { followLive } from "../live/view.js";
import { ownOf } from "./from_trace.js";

const CHANNEL = "why"; // of the engine: the newest text wins

// `show` takes the page's data, whose numbers of the sentence count while the engine has none.
/** @param {import("./component.js").Why} view @param {import("../live/live.js").Live} live */
export function liveWhy(view, live) {
  let data = null; // the page's
  // The view as `followLive` knows it: what is computed is a part of its data.
  const follower = {
    ...{ element: view.element, computed: null, follow() {} },
    get data() {
      return data && { model: data.saved.model };
    },
    show(given) {
      data = given;
      this.draw();
    },
    draw() {
      if (this.computed || data.own) view.show({ ...data, ...this.computed });
    },
  };
  const compute = async (engine, asked) => ownOf(await engine.trace({ ...asked, channel: CHANNEL }), data.texts);
  return followLive(follower, live, compute);
}
