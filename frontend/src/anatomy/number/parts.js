import { traceName } from "../walk.js";
import { formatCount, formatNumber } from "../format.js";
import { sideOf } from "../panel/facts.js";
import { rowOf, sideOfAxis } from "./operands.js";
import { dotVariants } from "./dot.js";
import { cardsPart, stackedParts, tablePart } from "./cards.js";
import { FEW, linkedCard, sentencePart } from "./few.js";
import { widthOfText } from "./sheet.js";

// The drawings below a number, for every sort of computation: variants, the best first.

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
  const headChoice = { head: state.head };
  const read = (name, options) => data.matrix(`place.${name}`, options);
  const row = (name, at, options) => rowOf(read(name, options), at);
  const token =
    computation.of.rows === "word" ? data.labels("target_in")[state.t] : labels(computation.of.rows)[computation.row];
  const tools = {
    sheet,
    computation,
    w,
    t,
    state,
    data,
    config: data.config,
    labels,
    own: headChoice,
    read,
    row,
    token,
  };
  return [...PARTS[computation.made](tools), { least: 0, best: 0, draw: () => {} }]; // in a tiny area
}

// -- products --------------------------------------------------------------------------------------------------------

function dotParts(tools) {
  const { sheet, computation, w, t, state, config, labels, token } = tools;
  const column = (letter, sign = "^") => ({
    text: t("number_b_column", { n: formatCount(computation.col + 1), matrix: `W${sign}${letter}` }),
    kind: "math",
    ramp: "ink",
  });
  const side = (name) => sideOf(state.place, name);
  const a = (key, name) => ({ text: t(key, { token }), kind: "text", ramp: side(name) });
  const inputs = { x: "number_a_x", normed: "number_a_normed", memory: "number_a_memory" };
  const named = {
    project: () => [a(inputs[computation.input], computation.input), column(computation.letter)],
    dot: () => [
      { ...a("number_a_query", "queries"), parent: parent("queries") },
      {
        text: t("number_b_key", { token: labels("key")[computation.col] }),
        kind: "text",
        ramp: side("keys"),
        parent: parent("keys"),
      },
    ],
    values: () => [
      { ...a("number_a_weights", "weights"), parent: parent("weights") },
      {
        text: t("number_b_values", { n: computation.col + 1 }),
        kind: "text",
        ramp: side("values"),
        parent: parent("values"),
      },
    ],
    output: () => [a("number_a_concat", "concat"), column("O")],
    inner: () => [a(inputs[computation.input], computation.input), column("1", "_")],
    outer: () => [a("number_a_activation", "activation"), column("2", "_")],
    logits: () => [
      a("number_a_hidden", "hidden"),
      {
        text: t(config.tied_output ? "number_b_word" : "number_b_word_own", {
          token: computation.words.labels[computation.row],
        }),
        kind: "text",
        ramp: "target",
      },
    ],
  };
  const parent = (name) => `m:${traceName(state)}.${name}.h${state.head}`;
  const [first, second] = named[state.step]();
  const names = { a: first, b: second, terms: computation.keys ? labels("key") : null };
  const variants = dotVariants(sheet, names, w);
  if (!computation.skipped) return variants;
  const { free, put } = computation;
  const key = put !== undefined ? "number_elsewhere" : state.step === "values" ? "number_zero" : "number_skipped";
  const text = t(key, { value: formatNumber(free), put: formatNumber(put ?? 0) });
  return variants.map((variant) => stackedParts([sentencePart(sheet, text, w), variant], 0.8 * sheet.unit));
}

// -- tables ----------------------------------------------------------------------------------------------------------

function softmaxParts(tools) {
  const { sheet, computation, w, t, labels } = tools;
  const { scores, less, exps, total, weights, at, rule } = computation;
  const keys = labels("key");
  const plain = rule === 0;
  const number = (value) => formatNumber(value);
  const lines = keys.map((token, k) => {
    const middle = plain ? [number(less[k]), formatNumber(exps[k], "weights")] : [];
    const hidden = scores[k] === -Infinity;
    return {
      cells: [token, number(scores[k]), ...middle, formatNumber(weights[k], "weights")],
      weight: weights[k],
      chosen: k === at,
      dim: hidden,
    };
  });
  const order = keys.map((_, k) => k).sort((a, b) => (a === at ? -1 : b === at ? 1 : weights[b] - weights[a] || a - b));
  const rest = (writtenLines) => {
    const hidden = keys.map((_, k) => k).filter((k) => !writtenLines.has(k));
    const sum = (values) =>
      formatNumber(
        hidden.reduce((total, k) => total + values[k], 0),
        "weights",
      );
    const name =
      hidden.length === 1 ? t("number_rest_key") : t("number_rest_keys", { count: formatCount(hidden.length) });
    return [name, "", ...(plain ? ["", sum(exps)] : []), sum(weights)];
  };
  const names = ["key", "score", ...(plain ? ["less", "exp"] : []), "weight"].map((name) => t(`number_col_${name}`));
  const foot = ["", ...(plain ? ["", number(total)] : []), number(weights.reduce((sum, weight) => sum + weight, 0))];
  const go = (k) => (k === at ? null : { row: computation.row, col: k });
  const label = (k) => t("number_term_token_go", { token: keys[k] });
  const first = Math.max(
    ...keys.map((key) => widthOfText(key, 1)),
    widthOfText(t("number_rest_keys", { count: "99" }), 1),
  );
  const table = { title: plain ? t("number_softmax") : "", columns: names, lines, order, rest, foot, first, go, label };
  const sentenceKey = [null, "number_uniform", "number_argmax"][rule];
  const part = tablePart(sheet, table, w);
  if (!sentenceKey) return [part];
  return [
    stackedParts(
      [sentencePart(sheet, t(sentenceKey, { count: formatCount(computation.visible) }), w), part],
      0.6 * sheet.unit,
    ),
  ];
}

function probabilityTable(tools) {
  const { sheet, computation, w, t, state, data } = tools;
  const { words, probabilities, logSum, count } = computation;
  const chosen = state.step === "probabilities" ? computation.row : words.rank < words.ids.length ? words.rank : -1;
  const wide = words.ids.length;
  const logits = data.outputs.logit.subarray(state.t * wide, (state.t + 1) * wide);
  const lines = words.labels.map((token, k) => ({
    cells: [
      token,
      formatNumber(logits[k]),
      formatNumber(logits[k] - logSum),
      formatNumber(probabilities[k], "weights"),
    ],
    weight: probabilities[k],
    chosen: k === chosen,
  }));
  const order = words.labels.map((_, k) => k).sort((a, b) => (a === chosen ? -1 : b === chosen ? 1 : a - b));
  const rest = (writtenLines) => {
    const sum = words.labels.reduce((total, _, k) => total + (writtenLines.has(k) ? probabilities[k] : 0), 0);
    return [
      t("number_rest_words", { count: formatCount(count - writtenLines.size) }),
      "",
      "",
      formatNumber(Math.max(0, 1 - sum), "weights"),
    ];
  };
  const names = ["word", "logit", "log", "probability"].map((name) => t(`number_col_${name}`));
  const go = (k) => (k === chosen ? null : { step: "probabilities", row: k, col: 0 });
  const label = (k) => t("number_from", { name: words.labels[k] });
  const first = Math.max(
    ...words.labels.map((label) => widthOfText(label, 1)),
    widthOfText(t("number_rest_words", { count: formatCount(count) }), 1),
  );
  return tablePart(
    sheet,
    { title: "", columns: names, lines, order, rest, always: count > lines.length, foot: null, first, go, label },
    w,
  );
}

function probabilityParts(tools) {
  const { sheet, computation, w } = tools;
  const table = probabilityTable(tools);
  if (computation.made === "probability") return [table];
  return [stackedParts([sentencePart(sheet, chosenText(tools), w), table], 0.6 * sheet.unit)];
}

function chosenText({ computation, t }) {
  const { words, count } = computation;
  const about = { rank: formatCount(words.rank + 1), count: formatCount(count) };
  return t(words.rank ? "number_rank" : "number_likeliest", about);
}

function backParts(tools) {
  const { sheet, t, state, data, w } = tools;
  const next = state.t + 1;
  const last = next >= data.steps;
  const word = data.labels("target_out")[state.t];
  const cards = [
    linkedCard(
      tools,
      { name: t("number_card_chosen", { n: formatCount(state.t + 1) }), value: word },
      { step: "choose" },
    ),
  ];
  if (last)
    cards.push({
      name: t(data.header.complete === false ? "number_card_cut" : "number_card_end"),
      value: "■",
      sign: "→",
    });
  else {
    const go = { place: "target", step: "row", t: next, row: next, col: -1 };
    cards.push(
      linkedCard(
        tools,
        {
          name: t("number_card_back", { n: formatCount(next + 1) }),
          value: data.labels("target_in")[next],
          sign: "→",
          hue: "target",
        },
        go,
      ),
    );
  }
  const table = probabilityTable(tools);
  return [stackedParts([cardsPart(sheet, cards, w), table], 1.1 * sheet.unit), cardsPart(sheet, cards, w)];
}
