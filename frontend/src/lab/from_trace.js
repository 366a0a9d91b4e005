// The Lab's packs, made from traces of the engine; pages/components/compared_heads.py makes the same on the server.
import { PackWriter } from "../core/pack.js";
import { explorerPack, traceId } from "../explorer/from_trace.js";
import { translationsOf } from "./translation.js";
import { inWords, sharedTexts, wordingOf } from "./words.js";

// The packs of both sides: of traces of the same tokens, and the switches of `after`, as in a link. about: what the packs
// say beside the numbers: texts, tries, cards, opened, pictures, row, pane.
export function labPacks({ before, after, switches }, config, about) {
  const header = {
    ...about,
    base: traceId(before),
    residual: config.residual,
    trained_scale: before.cross.scale[0][0],
    d_k: before.cross.queries.shape[3],
    pads: Number(switches.pad ?? 0),
    switches,
    in_words: inWords(sharedTexts(about.texts), switches, config),
  };
  const pack = (trace) => explorerPack(trace, { ...header, wording: wordingOf(trace) });
  return { before: pack(before), after: pack(after) };
}

/** The pack of both translations. written: {before, after: traces of what the model writes itself}, or {}. */
export function saysPack(after, written) {
  const says = written.before ? translationsOf(written.before, written.after) : {};
  return new PackWriter().finish({ id: traceId(after), exact: [], says });
}
