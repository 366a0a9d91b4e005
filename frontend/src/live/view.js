// A view of plain data that follows what one types: it draws the numbers of the engine, or else those that the server
// sent with its data: {model: its name, state: what is chosen, as links name it, revision, numbers, big, texts, ...}.
import { PlainView } from "../host/plain_view.js";
import { isQuiet, markFresh } from "./live.js";

export class LiveView extends PlainView {
  /** @type {any} */ computed = null; // by the engine
  /** @type {Record<string, any>} */ state = {};
  /** @type {Record<string, any>} */ told = {}; // what the reader chose since the state came
  follow = () => {};

  /** @param {ConstructorParameters<typeof PlainView>} given */
  constructor(...given) {
    super(...given);
    this.element.toggleAttribute("data-live", true); // nothing but messages is seen before the first numbers
  }

  get numbers() {
    return this.computed ?? this.data.numbers;
  }

  // A state of Python counts only where Python changed it: the echo of an older report must not undo a newer choice.
  take(before) {
    if (before && before.revision === this.data.revision) return;
    this.state = { ...this.data.state };
    this.told = {};
  }

  // The reader chose something. pause: milliseconds without another choice until Python is told.
  choose(changes, pause = 0) {
    Object.assign(this.state, changes);
    Object.assign(this.told, changes);
    this.draw();
    this.follow();
    this.later(pause, () => this.component.setStateValue("state", { ...this.told, revision: this.data.revision }));
    if (!pause) this.flush();
  }
}

/**
 * Lets a view follow the sentence, as long as the engine has its model; a driver for `plainComponent`.
 * @param {any} view a LiveView, or what has as much of it: data, computed, draw, follow, show and element
 * @param {import("./live.js").Live} live
 * @param {(engine: any, asked: {source: string, target: string, limit: number}, check: () => void) => Promise<any>} compute
 *   gives the numbers; check() throws where newer ones are wanted already
 * @param {() => any} needs what else they depend on
 */
export function followLive(view, live, compute, needs = () => null) {
  let wanted = ""; // what is drawn or being computed

  const follow = async () => {
    const { engine, sentence, limit } = live;
    if (!engine || view.data?.model !== engine.about.name) return leave();
    const asked = JSON.stringify([engine.about.name, sentence, limit, needs()]);
    if (asked === wanted || !sentence.source.trim()) return undefined;
    wanted = asked;
    const check = () => {
      if (asked !== wanted) throw Object.assign(new Error("newer numbers are wanted"), { name: "Dropped" });
    };
    try {
      const found = await compute(engine, { ...sentence, limit }, check);
      check();
      view.computed = found;
      view.draw();
      markFresh(view.element);
    } catch (error) {
      if (!isQuiet(error)) throw error;
      if (asked === wanted) wanted = "";
    }
  };

  // The server draws: another model is open.
  const leave = () => {
    wanted = "";
    if (!view.computed) return;
    view.computed = null;
    view.element.style.removeProperty("--hs-stale");
    view.draw();
  };

  view.follow = follow;
  const stop = live.onChange(follow);
  const show = (data) => {
    view.show(data);
    follow();
  };
  return { show, stop };
}
