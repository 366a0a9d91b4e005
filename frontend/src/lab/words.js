// Switches in plain words, as pages/components/descriptions.py says them; and what follows from them for other texts.
import { listText } from "../core/lists.js";
import { makeTexts } from "../core/texts.js";
import { KINDS, layersOf } from "../engine/switches.js";
import { SWITCH_FORMS } from "../state/generated.js";
import { SHARED_TEXTS } from "../state/texts.js";
import { headsIn, readSwitches } from "./params.js";
import { NOTE_TEXTS } from "./texts.js";

const NAMED = 3; // up to this many places of a switch are named; more are counted
const LISTED = 8; // most hidden tokens in a list, and most phrases in a text
const FORMS = { ...SWITCH_FORMS, ...{ positions: {}, skip: {}, neurons: {} } };

/** Texts of switches and about them. texts: English -> the reader's language. */
export const sharedTexts = (texts) => makeTexts(texts, { ...SHARED_TEXTS, ...NOTE_TEXTS });

// "cross.2.*" in words: "cross-attention, layer 2".
function headsInWords(t, where) {
  const [kind, layer = "*", head = "*"] = where.split(".");
  const named = [kind !== "all" && "kind", layer !== "*" && "layer", head !== "*" && "head"].filter(Boolean);
  const name = kind === "all" ? "" : t(kind);
  return named.join() === "kind" ? name : t(named.join("_"), { kind: name, layer, head });
}

const joined = (t, texts) => texts.reduce((first, last) => t("and", { first, last }));

// The text of this name for all heads; else that for some, with their names, or their number if there are many.
function at(t, places, name, values = {}) {
  if (places.includes("all")) return t(name, values);
  const heads =
    places.length > NAMED
      ? t("places", { count: places.length })
      : joined(t, places.map((where) => headsInWords(t, where))); // prettier-ignore
  return t(`${name}_in`, { ...values, heads });
}

// One phrase for consecutive switches with the same text. text: gives its name and values for the value of a switch.
function byHeads(t, list, text, kinds = []) {
  const groups = [];
  for (const { value, where } of list) {
    const place = kinds.length === 1 && where === kinds[0] ? "all" : where;
    const [name, values] = text(value);
    const key = JSON.stringify([name, values]);
    if (groups.at(-1)?.key === key) groups.at(-1).places.push(place);
    else groups.push({ key, name, values, places: [place] });
  }
  return groups.map(({ places, name, values }) => at(t, places, name, values));
}

// The switches with the same key, in the order of their first.
function groupsOf(list, key) {
  const groups = new Map();
  for (const entry of list) groups.set(key(entry), [...(groups.get(key(entry)) ?? []), entry]);
  return groups;
}

const sizesOf = (config) =>
  Object.fromEntries(KINDS.map((kind) => [kind, { layers: layersOf(config, kind), heads: config.heads }]));

function knockedOut(t, list, config) {
  const places = list.map(({ where }) => where);
  if (!places.length) return [];
  if (!config || places.includes("all")) return [at(t, places, "zero")];
  const count = headsIn(places, sizesOf(config)).size;
  const number = count === 1 ? "zero_one" : "zero_some";
  if (places.length > 1) return [t(number, { count })];
  const whole = (places[0].split(".")[2] ?? "*") === "*";
  return [t(`${whole ? "zero_all" : number}_in`, { count, heads: headsInWords(t, places[0]) })];
}

// One phrase for a side and a place.
function hidden(t, list) {
  const groups = groupsOf(list, ({ value, where }) => `${value.split(".")[0]}@${where}`);
  return [...groups.values()].map((alike) => {
    const [side] = alike[0].value.split(".");
    const tokens = alike.map(({ value }) => Number(value.split(".")[1])).sort((a, b) => a - b);
    const number = tokens.length === 1 ? "one" : tokens.length <= LISTED ? "some" : "many";
    const text = t(`hide_${side}_${number}`, { tokens: tokens.join(", "), count: tokens.length });
    const [{ where }] = alike;
    return where === "all" ? text : t("hide_in", { hidden: text, heads: headsInWords(t, where) });
  });
}

function leftOut(t, list) {
  if (!list.length) return [];
  if (list.length > NAMED) return [t("skip_many", { count: list.length })];
  const names = list.map(({ value }) => {
    const [stack, layer, part] = value.split(".");
    return t(`${stack}_${part}_part`, { layer });
  });
  return [t("skip", { sub_layers: joined(t, names) })];
}

// One phrase for a layer.
function silenced(t, list) {
  const groups = groupsOf(list, ({ value }) => value.replace(/\.\d+$/, ""));
  return [...groups]
    .sort(([a], [b]) => a.localeCompare(b, "en", { numeric: true }))
    .map(([place, alike]) => {
      const [stack, layer] = place.split(".");
      const values = { neurons: alike[0].value.split(".")[2], count: alike.length.toLocaleString("en"), layer };
      return t(`neurons_${stack}_${alike.length === 1 ? "one" : "some"}`, values);
    });
}

const short = (number) => String(Number(Number(number).toPrecision(6)));

// All phrases of a switch; that of another one has its name.
const PHRASES = {
  scaling: (t, list) =>
    byHeads(t, list, (value) =>
      value === "off" || Number(value) === 1 ? ["scaling_off"] : ["scaling", { factor: short(value) }],
    ),
  pad: (t, list) => list.map(({ value }) => t("pad", { count: value })),
  hide: hidden,
  resample: (t, list) =>
    byHeads(t, list, (value) => (value.startsWith("text.") ? ["resample"] : ["drawn", { seed: value }])),
  zero: knockedOut,
  weights: (t, list) => byHeads(t, list, (value) => [value]),
  positions: (t, list) =>
    list.map(({ value, where }) => {
      const [, rule, amount] = /^(\w+)\.?(.*)$/.exec(value);
      return t(`${rule}_${where === "all" ? "both" : where}`, { amount: short(amount) });
    }),
  skip: leftOut,
  neurons: silenced,
};

/** The switches of a link in plain words, at most LISTED phrases. config: of the model, to count its heads; without it
 * the text names them. t: of `sharedTexts`. */
export function phrases(t, params, config = null) {
  const lists = readSwitches(params, FORMS);
  const named = (name) => byHeads(t, lists[name], () => [name], FORMS[name].kinds);
  const texts = Object.keys(FORMS).flatMap((name) => PHRASES[name]?.(t, lists[name], config) ?? named(name));
  if (texts.length <= LISTED) return texts;
  return [...texts.slice(0, LISTED - 1), t("more_switches", { count: texts.length - LISTED + 1 })];
}

export const inWords = (t, params, config = null) => listText(t, phrases(t, params, config)) || t("no_switches");

/** What may surprise a person: a model without the causal mask, layers whose heads are all knocked out. kinds: kind ->
 * {zero: [layer][head]}. */
export function switchNotes(t, { causal, residual, kinds }) {
  const silent = Object.entries(kinds).flatMap(([kind, { zero }]) =>
    zero.flatMap((heads, layer) => (heads.every(Boolean) ? [headsInWords(t, `${kind}.${layer + 1}`)] : [])),
  );
  const notes = causal ? [] : [t("uncausal")];
  if (silent.length) notes.push(t(residual ? "silent" : "silent_without_residual", { layers: listText(t, silent) }));
  return notes;
}

/** Texts of the pictures that differ for this trace, by key, in English: without a causal mask the attention is not
 * called masked, and the probability of a token is not the one with which it was generated. */
export function wordingOf({ causal, switches, decoder_self: { mask } }) {
  if (!causal) return { kind_decoder_self: SHARED_TEXTS.no_mask, chip: SHARED_TEXTS.chip_uncausal };
  if (!switches.causal) return {};
  return { kind_decoder_self: seesAll(mask) ? SHARED_TEXTS.mask_off : SHARED_TEXTS.mask_partly_off };
}

// Whether each row of a head sees what its last one sees.
function seesAll({ data, shape: [, , queries, keys] }) {
  const size = queries * keys;
  return data.every((shown, at) => shown === data[at - (at % size) + size - keys + (at % keys)]);
}

/** What saved pictures say of a trace, as `told` of pages/components/saving.py. */
export function told(t, { checkpoint, source_text: source, target_text: target }, params) {
  return {
    model: checkpoint,
    sentences: t("sentences", { source, target }),
    switches: Object.entries(params).map(([name, value]) => `${name}-${value}`),
    in_words: Object.keys(params).length ? t("switched", { switches: inWords(t, params) }) : "",
  };
}
