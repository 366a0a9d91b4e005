// The explorer while one types: every pass is computed in the page.
import { explorerPack, SHOWN } from "./from_trace.js";
import { markFresh } from "../live/live.js";

const WORDS = 50; // milliseconds between two drawings of the words: the model writes one in 4

// Of a pass that is not over yet, the explorer shows the heads of the encoder, the words, then all heads. about: what the
// packs say beside the numbers: texts, recorded, alignment, wording, meanings; take: shows a pack.
/** @param {import("./explorer.js").Explorer} explorer @param {import("../live/live.js").Live} live
 * @param {any} about @param {(pack: any) => void} take */
export function liveExplorer(explorer, live, about = {}, take = (pack) => explorer.show(pack)) {
  let server = null; // the header of its last pack
  let ordered = null; // a state that the server wants to be taken over
  let asked = ""; // what is drawn or being computed
  let trace = null; // what is drawn
  let wrote = 0; // when words were drawn

  // Whether the server shows what only it knows, or another model.
  const paused = () => server && (server.live === false || server.checkpoint !== live.engine?.about.name);

  const show = (found) => {
    take(explorerPack(found, { ...about, ...(ordered && { state: ordered }) }));
    ordered = null;
  };

  const draw = (part) => {
    if (part.stage === "encoder") return explorer.state.kind === "encoder_self" && show(part.trace);
    if (part.stage === "heads") return show((trace = part.trace));
    const now = performance.now();
    if (now - wrote < WORDS) return undefined;
    wrote = now;
    return explorer.write(part.text);
  };

  const follow = async () => {
    const { engine, sentence, limit } = live;
    const wanted = JSON.stringify([engine?.about.name, sentence]);
    if (!engine || paused() || !sentence.source.trim() || wanted === asked) return;
    asked = wanted;
    const ask = { ...sentence, limit, channel: "sentence", keep: SHOWN };
    try {
      const found = await engine.trace(ask, (part) => wanted === asked && draw(part));
      if (wanted !== asked) return;
      if (trace?.target_out_ids === found.target_out_ids) explorer.weigh(found.probabilities);
      else show(found);
      trace = found;
      markFresh(explorer.element);
    } catch (error) {
      if (error.name !== "Dropped" && error.name !== "InputError") throw error;
      if (wanted === asked) asked = ""; // the fields say what is wrong with the text
    }
  };

  // Takes the header of a pack of the server. Returns whether the engine draws what the pack is about.
  const order = (header) => {
    if (!header.state) return trace !== null; // exact numbers of a head: the engine knows those of all
    const isNew = header.state.revision !== server?.state.revision;
    server = header;
    const { texts, recorded, alignment, wording, meanings, state } = header;
    about = { texts, recorded, alignment, wording, meanings: meanings && "asked" };
    if (paused()) {
      [asked, trace] = ["", null];
      explorer.element.style.removeProperty("--hs-stale");
      return false;
    }
    // A stop of a lesson brings its sentence: the cell that it names is not one of the sentence before.
    if (isNew && header.kinds && trace?.source_text !== header.sentences.source) trace = null;
    if (!trace && header.kinds) return false; // until the engine has its own
    ordered = state;
    if (trace) show(trace);
    return true;
  };

  follow();
  return { order, stop: live.onChange(follow) };
}
