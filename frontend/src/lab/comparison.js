// Before and after of the Lab, computed by the engine: passes over the same tokens without switches and with them, and what
// the model writes itself. All pictures of a page share them.
import { needsServer } from "../engine/switches.js";
import { isQuiet, markFresh } from "../live/live.js";

const CHANNEL = "lab"; // one for all passes: a new question drops what is left of the last one
const KEPT = 8; // passes under different switches, of a sentence that is short
const SHORT = 80; // tokens of both sides; the passes over longer ones take much memory
const REST = 400; // milliseconds after which the likely next switches are computed ahead
const LEFT_OUT = [[], ["hide"], ["pad"], ["hide", "pad"]]; // what may not fit a sentence, in the order that is tried

/**
 * Traces, and the switches of `after`; `written`, once it is known, as below.
 * @typedef {{before: any, after: any, switches: Record<string, string>, written?: any}} Passes
 */

/** The comparison of a page. @param {any} live of live/live.js @returns {Comparison} */
export const comparisonOf = (live) => (live.comparison ??= new Comparison(live));

// Lets a view follow the Lab; a driver for `plainComponent`. part: of the comparison, which the view shows; numbersOf: what
// it shows of it, beside the page's data.
/** @param {any} view a PlainView @param {any} live @param {"passes" | "written"} part */
export function followComparison(view, live, part, numbersOf) {
  const comparison = comparisonOf(live);
  let data = null; // the page's
  let drawn = { part: null, texts: null, numbers: null };
  const draw = () => {
    const found = comparison.passes && comparison[part];
    view.element.toggleAttribute("data-old", !found);
    if (found && data) {
      if (drawn.part !== found) markFresh(view.element);
      if (drawn.part !== found || drawn.texts !== data.texts)
        drawn = { part: found, texts: data.texts, numbers: numbersOf(comparison, data.texts) };
      view.show({ ...data, ...drawn.numbers });
    } else if (data?.before) {
      view.show(data); // with numbers of the server
      view.element.style.removeProperty("--hs-stale");
    }
  };
  const show = (given) => {
    data = given;
    draw();
  };
  return { show, stop: comparison.onChange(draw) };
}

class Comparison {
  /** @type {Record<string, string> | null} */ switches = null; // those that the Lab shows, once it has told
  /** @type {Passes | null} */ passes = null;
  /** @type {any} */ written = null; // {before, after: traces of what the model writes itself}; {} if it cannot write
  // Of the page: its model, whether it shows what the model writes, and the switches that a person may set next.
  about = { model: "", writes: true, ahead: () => /** @type {Record<string, string>[]} */ ([]) };
  asked = ""; // what is computed, or being computed
  // Of a sentence: passes without switches, `plain` of the pair and `own` without its target; and `found`, by switches.
  /** @type {any} */ known = {};
  listeners = new Set();
  stop = () => {};

  constructor(live) {
    this.live = live;
  }

  set(switches, about = this.about) {
    Object.assign(this, { switches, about });
    return this.follow();
  }

  // Whether the engine can compute what is shown.
  get possible() {
    const { engine } = this.live;
    if (!this.switches || engine?.about?.name !== this.about.model) return false;
    return !needsServer(this.switches, engine.about).length;
  }

  // Calls f() whenever passes or translations are new, or are none any more; returns a function that stops it.
  onChange(f) {
    if (!this.listeners.size) this.stop = this.live.onChange(() => this.follow());
    this.listeners.add(f);
    this.follow();
    return () => {
      this.listeners.delete(f);
      if (!this.listeners.size) this.stop();
    };
  }

  tell(found) {
    Object.assign(this, found);
    for (const listener of this.listeners) listener();
  }

  async follow() {
    const { switches } = this;
    const { sentence, limit, engine } = this.live;
    if (!this.possible) {
      this.asked = "";
      if (this.passes) this.tell({ passes: null, written: null });
      return;
    }
    const text = JSON.stringify([engine.about.name, sentence, limit]);
    const wanted = text + JSON.stringify(switches);
    if (!this.listeners.size || !sentence.source.trim() || wanted === this.asked) return;
    this.asked = wanted;
    if (this.known.text !== text) this.known = { text, found: new Map() };
    const { known } = this;
    const stillWanted = (found) => {
      if (wanted !== this.asked) throw Object.assign(new Error("dropped"), { name: "Dropped" });
      return found;
    };
    const ask = async (more) => stillWanted(await engine.trace({ ...sentence, limit, channel: CHANNEL, ...more }));
    try {
      known.plain ??= await ask({});
      const passes = stillWanted(await passesUnder(switches, known, ask));
      this.tell({ passes, written: passes.written ?? null });
      if (this.about.writes && !passes.written) {
        known.own ??= known.plain.own ? known.plain : await ask({ target: "" });
        passes.written = canWrite(passes) ? await write(ask, known.own, passes) : {};
        this.tell({ written: passes.written });
      }
      if (!isShort(known.plain)) return;
      stillWanted(await new Promise((resolve) => setTimeout(resolve, REST)));
      for (const next of this.about.ahead())
        if (!needsServer(next, engine.about).length) await passesUnder(next, known, ask);
    } catch (error) {
      if (!isQuiet(error)) throw error;
      if (wanted === this.asked) this.asked = "";
    }
  }
}

const isShort = ({ source_ids, target_in_ids }) => source_ids.length + target_in_ids.length <= SHORT;

// Passes over a sentence, computed once for the same switches.
async function passesUnder(switches, known, ask) {
  const { found, plain } = known;
  const key = JSON.stringify(switches);
  const passes = found.get(key) ?? (await compare(ask, plain, switches));
  found.delete(key); // the last one is the newest
  found.set(key, passes);
  for (const old of [...found.keys()].slice(0, isShort(plain) ? -KEPT : -1)) found.delete(old);
  return passes;
}

/** Passes with as many of the switches as fit the sentence. ask(more): a pass over it. @returns {Promise<Passes>} */
export async function compare(ask, plain, switches) {
  for (const names of LEFT_OUT.filter((names) => names.every((name) => name in switches))) {
    const rest = Object.entries(switches).filter(([name]) => !names.includes(name));
    const passes = await passesOf(ask, plain, Object.fromEntries(rest));
    if (passes) return passes;
  }
  return { before: plain, after: plain, switches: {} };
}

/** Passes over the tokens of `plain`; null if a switch does not fit them. @returns {Promise<Passes | null>} */
async function passesOf(ask, plain, switches) {
  const { pad, ...others } = switches;
  const output = plain.target_out_ids;
  try {
    const before = pad ? await ask({ output, switches: { pad } }) : plain;
    if (!hasTokens(before, others.hide)) return null;
    const after = Object.keys(others).length ? await ask({ output, switches }) : before;
    return others.hide && isBlind(after) ? null : { before, after, switches };
  } catch (error) {
    if (error.about?.code === "pads") return null; // more tokens than the model reads
    throw error;
  }
}

// Whether a sentence has the tokens to hide, "source.3,target.2@cross.1".
function hasTokens({ source_ids: source, target_in_ids: target }, hide = "") {
  return hide
    .split(",")
    .filter(Boolean)
    .every((part) => {
      const [side, token] = part.split("@")[0].split(".");
      return Number(token) <= (side === "source" ? source : target).length;
    });
}

// Whether a row of any head sees no key, so that its softmax is undefined.
function isBlind(trace) {
  return ["encoder_self", "decoder_self", "cross"].some((kind) => {
    const { data, shape } = trace[kind].mask;
    const keys = shape[3];
    for (let from = 0; from < data.length; from += keys) if (!data.subarray(from, from + keys).includes(1)) return true;
    return false;
  });
}

// Whether the first step of decoding, which sees only <s>, sees it in every head.
function canWrite({ after, switches }) {
  const { data, shape } = after.decoder_self.mask;
  const size = shape[2] * shape[3];
  return !switches.hide || data.every((shown, at) => at % size > 0 || shown);
}

// What the model writes itself without the switches, which is `own`, and with them.
async function write(ask, own, { switches }) {
  const draft = own.target_out_ids;
  return { before: own, after: Object.keys(switches).length ? await ask({ target: "", switches, draft }) : own };
}
