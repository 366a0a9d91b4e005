// Decoding step by step while one types, presses tokens and begins the translation: everything is computed in the page.
import { unwritten } from "../engine/words.js";
import { followLive } from "../live/view.js";
import { readBranches } from "./branches.js";
import { attentionOf, barsOf, linesOf, positionIn } from "./from_trace.js";

const CHANNEL = "decoding"; // of the engine: the newest choice wins

// The picture has a state of its own, too: {begin, branches, at}.
/** @param {import("./component.js").Decoding} view @param {import("../live/live.js").Live} live */
export function liveDecoding(view, live) {
  let known = { about: "", lines: new Map(), traces: new Map() };

  const compute = async (engine, { source, limit }, check) => {
    const about = JSON.stringify([engine.about.name, source, limit]);
    if (known.about !== about) known = { about, lines: new Map(), traces: new Map() };
    const { lines, traces } = known;
    // Asks the engine for what it has not been asked yet.
    const ask = async (call, asked, kept, key) => {
      if (kept.has(key)) return kept.get(key);
      check();
      kept.set(key, await engine[call]({ source, limit, channel: CHANNEL, ...asked }));
      return kept.get(key);
    };
    const goOn = async (forced) =>
      (await ask("continuations", { forced: [forced] }, lines, JSON.stringify(forced))).found[0];

    const { begin, branches, at: chosen } = view.state;
    const { first, wrong } = await begun(goOn, begin);
    if (!first) return { source, begin, wrong };
    const { found, unfit } = await branched(goOn, first, readBranches(branches), engine.about.config);
    const at = positionIn(chosen, found);
    const { ids } = found[at.line];
    const trace = await ask("trace", { output: ids }, traces, ids.join());
    const bars = barsOf(found[at.line], at.step);
    return { source, begin, wrong, unfit, lines: linesOf(found), at, bars, ...attentionOf(trace, at.step) };
  };

  return followLive(view, live, compute, () => view.state);
}

// The first translation; `wrong`: why it does not begin as asked, or why there is none.
async function begun(goOn, begin) {
  try {
    return { first: await goOn(begin), wrong: null };
  } catch (error) {
    const { code, ...values } = error.about ?? {};
    if (!["unwritable", "beginning", "numbers"].includes(code)) throw error;
    return { first: code === "numbers" ? null : await goOn(""), wrong: { code, ...values } };
  }
}

// All translations; `unfit`: the branches do not fit, and are left out.
async function branched(goOn, first, branches, config) {
  const barred = unwritten(config);
  const found = [first];
  for (const { line, step, token } of branches) {
    const ids = found[line]?.ids ?? [];
    const written = !barred.includes(token) && token < first.possible + barred.length;
    if (step >= ids.length || !written) return { found: [first], unfit: true };
    found.push({ ...(await goOn([...ids.slice(0, step), token])), shared: step });
  }
  return { found, unfit: false };
}
