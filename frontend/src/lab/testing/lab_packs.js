// What the Lab's pictures get from the engine, in Node, for tests/web/test_lab_packs.py:
//
//   node lab_packs.js FOLDER < JOBS
//
// FOLDER: a model with its graphs; JOBS: {jobs: [{source, target, switches}], phrases: [switches], links: [switches]} as
// JSON. Prints what each job gives, {switches, before, after: headers with arrays as lists, says, measures, own, effect};
// the phrases in words, with the model's heads counted and without; the names that are refused of each link.
import { readFileSync } from "node:fs";
import * as effects from "../../effect/numbers.js";
import { openFolder } from "../../engine/node.js";
import { Live } from "../../live/live.js";
import { measuresOf } from "../../measures/from_trace.js";
import { ownOf } from "../../why/from_trace.js";
import { refusedSwitches } from "../check.js";
import { comparisonOf } from "../comparison.js";
import { labPacks, saysPack } from "../from_trace.js";
import { inWords, sharedTexts } from "../words.js";

const model = await openFolder(process.argv[2]);
const { about } = /** @type {any} */ (model);
const engine = { about, trace: (asked) => model.trace(asked) };

// The header of a pack, with its arrays.
function whole({ header, array }) {
  const fill = (value) => {
    if (!value || typeof value !== "object") return value;
    if (value.dtype) return { shape: value.shape, data: Array.from(array(value)) };
    const entries = Object.entries(value).map(([name, one]) => [name, fill(one)]);
    return Array.isArray(value) ? value.map(fill) : Object.fromEntries(entries);
  };
  return fill(header);
}

async function answer({ source, target, switches }) {
  const live = new Live();
  const comparison = comparisonOf(live);
  const stop = comparison.onChange(() => {});
  live.set({ engine, sentence: { source, target } });
  await comparison.set(switches, { model: about.name, writes: true, ahead: () => [] });
  stop();
  const { passes, written } = comparison;
  const packs = labPacks(passes, about.config, { texts: {} });
  return {
    switches: passes.switches,
    before: whole(packs.before),
    after: whole(packs.after),
    says: saysPack(passes.after, written).header.says,
    measures: measuresOf(passes, about.config, {}),
    own: ownOf(passes.before, {}),
    effect: written.before ? effectOf(passes, written) : null,
  };
}

function effectOf(passes, written) {
  const effect = effects.effectOf(passes, written);
  const [before, after] = [effect.before.perplexity, effect.after.perplexity];
  const scale = passes.before.cross.scale[0][0];
  return {
    ...effect,
    changed: effects.changedWords(effect.after),
    change: effects.changeText(before, after),
    rescaled: effects.rescaled(passes.switches, about.config, scale),
  };
}

const { jobs, phrases, links } = JSON.parse(readFileSync(0, "utf8"));
const t = sharedTexts({});
const refused = (params) => refusedSwitches(params, about.config);
const words = phrases.map((switches) => [inWords(t, switches, about.config), inWords(t, switches)]);
const answers = [];
for (const job of jobs) answers.push(await answer(job));
process.stdout.write(JSON.stringify({ jobs: answers, phrases: words, links: links.map(refused) }));
