import { traceName } from "../walk.js";
import { formatCount, formatNumber } from "../format.js";
import { sideOf } from "../panel/facts.js";
import { sideOfAxis } from "./operands.js";
import { dotVariants } from "./dot.js";
import { cardsPart, stackedParts, tablePart } from "./cards.js";
import { FEW, card, linkedCard, sentencePart } from "./few.js";
import { widthOfText } from "./sheet.js";

// The drawings below a number, for every kind of computation: variants, the best first.

const PARTS = {
  ...FEW,
  dot: dotParts,
  softmax: softmaxParts,
  probability: probabilityParts,
  choose: probabilityParts,
  back: backParts,
};

export function numberParts(sheet, w) {
  const { computation, ctx, t } = sheet;
  const { state, data } = ctx;
  const labels = (axis) => data.labels(sideOfAxis(state, axis));
  const read = (name, options) => data.matrix(`place.${name}`, options);
  const { of, row, kind } = computation;
  const token = of.rows === "word" ? data.labels("target_in")[state.t] : labels(of.rows)[row];
  const { config } = data;
  const tools = { sheet, computation, w, t, state, data, config, labels, own: { head: state.head }, read, token };
  return [...PARTS[kind](tools), { least: 0, best: 0, draw: () => {} }]; // in a tiny area
}

const WORD = "number_b_word";

// -- products --------------------------------------------------------------------------------------------------------

function dotParts(tools) {
  const { sheet, computation, w, t, state, config, labels, token } = tools;
  const of = (name, key, values) => ({ text: t(key, values), kind: "text", ramp: sideOf(state.place, name) });
  const ofHead = (name, ...said) => ({ ...of(name, ...said), parent: `m:${traceName(state)}.${name}.h${state.head}` });
  const named = {
    dot: () => [
      ofHead("queries", "number_a_query", { token }),
      ofHead("keys", "number_b_key", { token: labels("key")[computation.col] }),
    ],
    values: () => [
      ofHead("weights", "number_a_weights", { token }),
      ofHead("values", "number_b_values", { n: computation.col + 1 }),
    ],
    logits: () => {
      const word = { token: computation.words.labels[computation.row] };
      return [
        of("hidden", "number_a_hidden", { token }),
        of("hidden", config.tied_output ? WORD : `${WORD}_own`, word),
      ];
    },
  };
  // A row of the input and a column of the weights.
  const linear = () => {
    const { input, symbol: matrix, col } = computation;
    const text = t("number_b_column", { n: formatCount(col + 1), matrix });
    return [of(input, `number_a_${input}`, { token }), { text, kind: "math", ramp: "ink" }];
  };
  const [a, b] = (named[state.step] ?? linear)();
  const variants = dotVariants(sheet, { a, b, terms: computation.keys ? labels("key") : null }, w);
  if (!computation.skipped) return variants;
  const { unswitched, instead } = computation;
  const key = instead !== undefined ? "number_elsewhere" : state.step === "values" ? "number_zero" : "number_skipped";
  const text = t(key, { value: formatNumber(unswitched), put: formatNumber(instead ?? 0) });
  return variants.map((variant) => stackedParts([sentencePart(sheet, text, w), variant], 0.8 * sheet.unit));
}

const widestOf = (texts) => Math.max(...texts.map((text) => widthOfText(text, 1)));

// -- tables ----------------------------------------------------------------------------------------------------------

function softmaxParts(tools) {
  const { sheet, computation, w, t, labels } = tools;
  const { scores, less, exps, total, weights, at, rule } = computation;
  const keys = labels("key");
  const plain = rule === 0;
  const number = (value) => formatNumber(value);
  const lines = keys.map((token, k) => {
    const middle = plain ? [number(less[k]), formatNumber(exps[k], "weights")] : [];
    const cells = [token, number(scores[k]), ...middle, formatNumber(weights[k], "weights")];
    return { cells, weight: weights[k], chosen: k === at, dim: scores[k] === -Infinity };
  });
  const order = keys.map((_, k) => k).sort((a, b) => (a === at ? -1 : b === at ? 1 : weights[b] - weights[a] || a - b));
  const rest = (writtenLines) => {
    const hidden = keys.map((_, k) => k).filter((k) => !writtenLines.has(k));
    const total = (values) => hidden.reduce((total, k) => total + values[k], 0);
    const sum = (values) => formatNumber(total(values), "weights");
    const count = formatCount(hidden.length);
    const name = t(hidden.length === 1 ? "number_rest_key" : "number_rest_keys", { count });
    return [name, "", ...(plain ? ["", sum(exps)] : []), sum(weights)];
  };
  const names = ["key", "score", ...(plain ? ["less", "exp"] : []), "weight"].map((name) => t(`number_col_${name}`));
  const foot = ["", ...(plain ? ["", number(total)] : []), number(weights.reduce((sum, weight) => sum + weight, 0))];
  const go = (k) => (k === at ? null : { row: computation.row, col: k });
  const label = (k) => t("number_term_token_go", { token: keys[k] });
  const first = widestOf([...keys, t("number_rest_keys", { count: "99" })]);
  const table = { title: plain ? t("number_softmax") : "", columns: names, lines, order, rest, foot, first, go, label };
  const sentenceKey = [null, "number_uniform", "number_argmax"][rule];
  const part = tablePart(sheet, table, w);
  if (!sentenceKey) return [part];
  const sentence = t(sentenceKey, { count: formatCount(computation.visible) });
  return [stackedParts([sentencePart(sheet, sentence, w), part], 0.6 * sheet.unit)];
}

function probabilityTable(tools) {
  const { sheet, computation, w, t, state, data } = tools;
  const { words, probabilities, logSum, count } = computation;
  const chosen = state.step === "probabilities" ? computation.row : words.rank < words.ids.length ? words.rank : -1;
  const wide = words.ids.length;
  const logits = data.outputs.logit.subarray(state.t * wide, (state.t + 1) * wide);
  const lines = words.labels.map((token, k) => {
    const numbers = [logits[k], logits[k] - logSum].map((value) => formatNumber(value));
    const cells = [token, ...numbers, formatNumber(probabilities[k], "weights")];
    return { cells, weight: probabilities[k], chosen: k === chosen };
  });
  const order = words.labels.map((_, k) => k).sort((a, b) => (a === chosen ? -1 : b === chosen ? 1 : a - b));
  const rest = (writtenLines) => {
    const sum = words.labels.reduce((total, _, k) => total + (writtenLines.has(k) ? probabilities[k] : 0), 0);
    const name = t("number_rest_words", { count: formatCount(count - writtenLines.size) });
    return [name, "", "", formatNumber(Math.max(0, 1 - sum), "weights")];
  };
  const names = ["word", "logit", "log", "probability"].map((name) => t(`number_col_${name}`));
  const go = (k) => (k === chosen ? null : { step: "probabilities", row: k, col: 0 });
  const label = (k) => t("number_from", { name: words.labels[k] });
  const first = widestOf([...words.labels, t("number_rest_words", { count: formatCount(count) })]);
  const always = count > lines.length;
  const table = { title: "", columns: names, lines, order, rest, always, foot: null, first, go, label };
  return tablePart(sheet, table, w);
}

function probabilityParts(tools) {
  const { sheet, computation, w } = tools;
  const table = probabilityTable(tools);
  if (computation.kind === "probability") return [table];
  return [stackedParts([sentencePart(sheet, chosenText(tools), w), table], 0.6 * sheet.unit)];
}

function chosenText({ computation, t }) {
  const { words, count } = computation;
  const about = { rank: formatCount(words.rank + 1), count: formatCount(count) };
  return t(words.rank ? "number_rank" : "number_likeliest", about);
}

function backParts(tools) {
  const { sheet, state, data, w } = tools;
  const next = state.t + 1;
  const chosen = { values: { n: formatCount(next) }, go: { step: "choose" } };
  const cards = [linkedCard(tools, "chosen", data.labels("target_out")[state.t], chosen)];
  if (next >= data.steps) cards.push(card(tools, data.header.complete === false ? "cut" : "end", "■", { sign: "→" }));
  else {
    const go = { place: "target", step: "row", t: next, row: next, col: -1 };
    const fed = { values: { n: formatCount(next + 1) }, go, sign: "→", hue: "target" };
    cards.push(linkedCard(tools, "back", data.labels("target_in")[next], fed));
  }
  const table = probabilityTable(tools);
  return [stackedParts([cardsPart(sheet, cards, w), table], 1.1 * sheet.unit), cardsPart(sheet, cards, w)];
}
