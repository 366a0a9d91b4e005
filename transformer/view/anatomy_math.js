import { el } from "./dom.js";
import { stepsOf, isAttention, isFeedForward, isEmbedding } from "./anatomy_walk.js";

// The paper's equations in MathML, which browsers set by themselves. An equation is made of named parts, and the part
// that a step computes is lit. What a model has differently from the paper (biases, d_k, scaling, norm) is written so.

const MATH_NAMESPACE = "http://www.w3.org/1998/Math/MathML";
// d_k, W_1, y_t; W^Q, W_i^Q; √d_model is a root sign before one
const MATH_SYMBOL = /(?<![A-Za-z])([A-Za-z]+)_(model|head|ff|\w)(?!\w)(?:\^([A-Z]))?|(?<![A-Za-z])([A-Za-z])\^([A-Z])/g;

function mathEl(tag, attributes, ...children) {
  const element = document.createElementNS(MATH_NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes || {}))
    if (value !== null && value !== undefined) element.setAttribute(name, String(value));
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

// A letter stands in italics, a word upright; both in faces for text (anatomy.css): not all systems have faces for
// mathematics.
const mathName = (text) => mathEl("mi", { mathvariant: "normal", class: text.length > 1 ? "hs-an-word" : null }, text);
const mathNumber = (value) => mathEl("mn", null, String(value));
const mathSign = (text, more) => mathEl("mo", more, text);
const mathRow = (...children) => mathEl("mrow", null, ...children);
const mathSub = (base, index) => mathEl("msub", null, base, index);
const mathSup = (base, power) => mathEl("msup", null, base, power);
const mathBoth = (base, index, power) => mathEl("msubsup", null, base, index, power);
const mathRoot = (inside) => mathEl("msqrt", null, inside);
const mathOver = (top, bottom) => mathEl("mfrac", null, top, bottom);
const mathEquals = () => mathSign("=");
const mathPlus = () => mathSign("+", { form: "infix" }); // also where it begins a part
const mathComma = () => mathSign(",", { separator: "true" });
const mathGap = (width) => mathEl("mspace", { width: `${width}em` });
const mathFence = (text) => mathSign(text, { stretchy: "false" });
const mathIn = (...children) => mathRow(mathFence("("), ...children, mathFence(")"));
// Around a fraction: a larger bracket, lowered to its middle, for only fonts for mathematics let brackets grow.
const mathLarge = (text) => mathSign(text, { stretchy: "false", class: "hs-an-high" });
const mathHigh = (text) => mathEl("mpadded", { voffset: "-0.26em" }, mathLarge(text));
const mathInHigh = (...children) => mathRow(mathHigh("("), ...children, mathHigh(")"));
const mathOf = (name, ...children) => mathRow(mathName(name), mathSign("\u2061"), mathIn(...children));
const mathList = (items) => items.flatMap((item, i) => (i ? [mathComma(), item] : [item]));
const mathTable = (rows) =>
  mathEl("mtable", { class: "hs-an-rows" }, ...rows.map((row) => mathEl("mtr", null, mathEl("mtd", null, ...row))));

// part("scale", ...children): lit where the step is of that name.
function partMaker(step) {
  const lit = (name) => (name === step ? "hs-an-lit" : null);
  return (name, ...children) => mathEl("mrow", { "data-part": name, class: lit(name) }, ...children);
}

// A function of which the name alone is the part, so that what it is applied to can be lit by itself.
const mathApplied = (part, name, word, ...children) => [part(name, mathName(word)), mathIn(...children)];

const projected = (name, input, letter) => [
  ...[mathName(name), mathEquals(), mathName(input), mathGap(input.length > 1 ? 0.15 : 0)],
  ...[mathSup(mathName("W"), mathName(letter)), mathPlus(), mathSup(mathName("b"), mathName(letter))],
];

// LayerNorm(x + Sublayer(x)), or with pre-norm x + Sublayer(LayerNorm(x)) (section 3.1).
function residual(part, config, sublayer) {
  const sum = [part("x", mathName("x")), part("add", mathPlus(), sublayer)];
  return config.norm === "pre" ? sum : mathApplied(part, "norm", "LayerNorm", ...sum);
}

// Section 3.2: projections, equation 1, heads, and what goes around them.
function attentionRows(state, config, part, about) {
  const cross = state.place === "decoder.cross";
  const pre = config.norm === "pre";
  const input = pre ? "z" : "x";
  const [queries, keys, values] = [
    projected("Q", input, "Q"),
    projected("K", cross ? "memory" : input, "K"),
    projected("V", cross ? "memory" : input, "V"),
  ];
  const rows = [];
  if (pre) rows.push([part("norm", mathName("z"), mathEquals(), mathOf("LayerNorm", mathName("x")))]);
  const beside = (...parts) => parts.flatMap((one, i) => (i ? [mathComma(), mathGap(0.4), ...one] : one));
  if (cross) rows.push([part("project", ...queries)], [part("project", ...beside(keys, values))]);
  else rows.push([part("project", ...beside(queries, keys, values))]);
  const index = () => (state.zoom === "sub" ? mathName("i") : mathNumber(state.head + 1));
  const each = ["Q", "K", "V"].map((name) => mathSub(mathName(name), index()));
  const heads = part("split", mathIn(...mathList(each)));
  rows.push([mathSub(mathName("head"), index()), mathEquals(), mathName("Attention"), heads]);
  const scores = scoresOf(config, part, about);
  const around = scores.some(({ localName }) => localName === "mfrac") ? mathInHigh : mathIn;
  rows.push([
    ...[mathName("Attention"), mathIn(...mathList(["Q", "K", "V"].map(mathName))), mathEquals()],
    part("softmax", mathName("softmax")),
    around(...scores, part("mask", mathPlus(), mathName("M"))),
    part("values", mathName("V")),
  ]);
  const head = (n) => mathSub(mathName("head"), mathNumber(n));
  const between = { 1: [], 2: [head(2)] }[config.heads] || [mathSign("…"), head(config.heads)];
  const joined = mathList([head(1), ...between]);
  rows.push([
    ...[mathName("MultiHead"), mathEquals(), part("concat", mathOf("Concat", ...joined))],
    part("output", mathSup(mathName("W"), mathName("O")), mathPlus(), mathSup(mathName("b"), mathName("O"))),
  ]);
  rows.push(residual(part, config, mathName("MultiHead")));
  return rows;
}

// Q K^T, divided by the root of d_k, or what a switch puts in its place.
function scoresOf(config, part, about) {
  const dot = () => part("dot", mathName("Q"), mathSup(mathName("K"), mathName("T")));
  const factor = about ? about.factor : undefined;
  if (factor === 1 || (factor === undefined && !config.scaling)) return [part("scale", dot())];
  if (factor !== undefined) return [part("scale", mathNumber(factor), mathSign("·")), dot()];
  const below = part("scale", mathRoot(mathNumber(config.d_k)));
  return [mathOver(dot(), below)];
}

// Equation 2.
function feedForwardRows(state, config, part) {
  const indexed = (letter, n) => mathSub(mathName(letter), mathNumber(n));
  const linear = (x, n) => [x, indexed("W", n), mathPlus(), indexed("b", n)];
  const pre = config.norm === "pre";
  const input = pre ? "z" : "x";
  const inner = part("inner", ...linear(mathName(input), 1));
  const relu = config.activation === "relu" ? [mathNumber(0), mathComma()] : [];
  const active = mathApplied(part, "activation", relu.length ? "max" : "GELU", ...relu, inner);
  const rows = pre ? [[part("norm", mathName("z"), mathEquals(), mathOf("LayerNorm", mathName("x")))]] : [];
  const outer = part("outer", ...linear(null, 2));
  rows.push([mathOf("FFN", mathName(input)), mathEquals(), ...active, outer]);
  rows.push(residual(part, config, mathOf("FFN", mathName(input))));
  return rows;
}

// Sections 3.4 and 3.5.
function embeddingRows(state, config, part) {
  const row = part("row", mathName("E"), mathFence("["), mathName("id"), mathFence("]"));
  const times = part("times", mathRoot(mathNumber(config.d_model)));
  const sum = [mathName("x"), mathEquals(), row, mathGap(0.15), times];
  if (config.positions === "none") return [[...sum]];
  const rows = [[...sum, part("plus", mathPlus(), mathName("PE"), mathIn(mathName("pos")))]];
  if (config.positions === "learned") return rows;
  const double = () => mathRow(mathNumber(2), mathName("i"));
  const power = () => mathRow(double(), mathSign("/"), mathNumber(config.d_model));
  const angle = () => mathInHigh(mathOver(mathName("pos"), mathSup(mathNumber(10000), power())));
  const wave = (column, wanted) => [
    ...[mathName("PE"), mathIn(mathName("pos"), mathComma(), ...column), mathEquals()],
    ...[mathName(wanted), angle()],
  ];
  rows.push([...wave([double()], "sin")]);
  rows.push([...wave([double(), mathPlus(), mathNumber(1)], "cos")]);
  return rows;
}

// Section 3.4: the pre-softmax linear transformation is the embedding table.
function outputRows(state, config, part) {
  const t = () => mathName("t");
  const before = mathSub(mathName("y"), mathRow(mathSign("<", { lspace: 0, rspace: 0 }), t()));
  const next = part("choose", mathSub(mathName("y"), t()));
  const given = [mathFence("|"), part("back", before), mathComma(), mathName("x")];
  const logits = part("logits", mathName("E"), part("hidden", mathSub(mathName("h"), t())));
  const softmax = mathApplied(part, "probabilities", "softmax", logits);
  return [[mathName("P"), mathIn(next, ...given), mathEquals(), ...softmax]];
}

// From afar: what a place does to x, on one line.
function placeRows(state, config) {
  const lit = (...children) => mathEl("mrow", { "data-part": state.place, class: "hs-an-lit" }, ...children);
  const pre = config.norm === "pre";
  const own = mathName(pre ? "z" : "x");
  if (isEmbedding(state.place)) return [embeddingRows(state, config, partMaker("row"))[0]];
  if (state.place === "output") return [outputRows(state, config, partMaker("probabilities"))[0]];
  const name = isAttention(state.place) ? "MultiHead" : "FFN";
  const inputs = { "decoder.cross": [own, mathName("memory")] }[state.place] || [own];
  const sum = [mathName("x"), mathPlus(), lit(mathOf(name, ...mathList(inputs)))];
  if (!pre) return [[mathOf("LayerNorm", ...sum)]];
  return [[...sum, mathComma(), mathGap(0.5), mathName("z"), mathEquals(), mathOf("LayerNorm", mathName("x"))]];
}

// The equation of a place, the part that the step computes lit: a <math> element. t: the texts, for what is spoken;
// about: {factor}, what a switch multiplies the scores by in place of 1 / sqrt(d_k), or nothing.
export function equationOf(state, config, t, about) {
  const near = state.zoom !== "model" && state.zoom !== "layer";
  const part = partMaker(stepsOf(state.place, config.norm).includes(state.step) ? state.step : "");
  const sorts = [
    [isAttention, attentionRows, "attention"],
    [isFeedForward, feedForwardRows, "ff"],
    [isEmbedding, embeddingRows, "embedding"],
    [() => true, outputRows, "output"],
  ];
  const [, rows, sort] = sorts.find(([holds]) => holds(state.place));
  const spoken = t(equationKey(sort, state, config, near), config);
  const made = near ? rows(state, config, part, about) : placeRows(state, config);
  return mathEl("math", { class: "hs-an-math", "aria-label": spoken, alttext: spoken }, mathTable(made));
}

function equationKey(sort, { place }, config, near) {
  if (!near && (sort === "attention" || sort === "ff")) return "eq_place_" + config.norm;
  if (sort === "attention" && !config.scaling) return "eq_attention_unscaled";
  if (sort === "attention") return place === "decoder.cross" ? "eq_attention_cross" : "eq_attention";
  if (sort === "ff") return "eq_ff_" + config.activation;
  return sort === "embedding" ? "eq_embedding_" + config.positions : "eq_output";
}

const mathAt = (name, ...indices) => mathSub(mathName(name), mathRow(...mathList(indices.map(mathIndex))));
const mathIndex = (value) => (typeof value === "number" ? mathNumber(value) : mathName(value));
const mathFrom = () => mathRow(mathName("j"), mathEquals(), mathNumber(1));
const mathSigma = () => mathSign("∑", { movablelimits: "false", largeop: "false", class: "hs-an-sum" });
const mathSum = (last, ...children) => [
  mathEl("munderover", null, mathSigma(), mathFrom(), mathIndex(last)),
  ...children,
];
const mathPower = (...exponent) => mathSup(mathName("e"), mathRow(...exponent));

// A row times a column, plus a bias.
function linearCell(name, width) {
  const bias = (c) => [mathPlus(), mathAt("b", c)];
  return (r, c, config) => mathSum(config[width], mathAt(name, r, "j"), mathAt("W", "j", c), ...bias(c));
}

// How one number of a step is made. r, c: its row and column, counted from 1.
const MATH_CELLS = {
  norm: (r, c) => [
    ...[mathAt("γ", c), mathOver(mathRow(mathAt("s", r, c), mathSign("−"), mathAt("μ", r)), mathAt("σ", r))],
    ...[mathPlus(), mathAt("β", c)],
  ],
  project: linearCell("x", "d_model"),
  dot: (r, c, config) => mathSum(config.d_k, mathAt("q", r, "j"), mathAt("k", c, "j")),
  scale: (r, c, config, factor) => scaledCell(mathRow(mathAt("q", r), mathSign("·"), mathAt("k", c)), config, factor),
  mask: (r, c) => [mathAt("s", r, c), mathPlus(), mathAt("M", r, c)],
  softmax: (r, c) => [mathOver(mathPower(mathAt("s", r, c)), mathRow(...mathSum("n", mathPower(mathAt("s", r, "j")))))],
  values: (r, c) => mathSum("n", mathAt("w", r, "j"), mathAt("v", "j", c)),
  output: linearCell("o", "d_model"),
  add: (r, c) => [mathAt("x", r, c), mathPlus(), mathAt("u", r, c)],
  inner: linearCell("x", "d_model"),
  activation: (r, c, config) =>
    config.activation === "gelu"
      ? [mathAt("p", r, c), mathSign("·"), mathName("Φ"), mathIn(mathAt("p", r, c))]
      : [mathName("max"), mathIn(mathNumber(0), mathComma(), mathAt("p", r, c))],
  outer: linearCell("a", "d_ff"),
  times: (r, c, config) => [mathAt("E", "id", c), mathRoot(mathNumber(config.d_model))],
  plus: (r, c) => [mathAt("e", r, c), mathPlus(), mathAt("p", r, c)],
  logits: (r, c, config) => mathSum(config.d_model, mathAt("E", c, "j"), mathAt("h", "j")),
  probabilities: (r, c) => [mathOver(mathPower(mathAt("l", c)), mathRow(...mathSum("n", mathPower(mathAt("l", "j")))))],
};

function scaledCell(product, config, factor) {
  if (factor !== undefined && factor !== 1) return [mathNumber(factor), mathSign("·"), product];
  return factor === 1 || !config.scaling ? [product] : [mathOver(product, mathRoot(mathNumber(config.d_k)))];
}

// The arithmetic of the chosen number and what it comes to (a text); null where a step computes nothing.
export function cellEquationOf(state, config, value, t, about) {
  const make = MATH_CELLS[state.step];
  if (!make || state.col < 0) return null;
  const parts = make(state.row + 1, state.col + 1, config, about ? about.factor : undefined);
  const spoken = t("eq_cell", { row: state.row + 1, column: state.col + 1, value });
  const made = [...parts, mathEquals(), mathEl("mrow", { class: "hs-an-lit" }, mathNumber(value))];
  return mathEl("math", { class: "hs-an-math", display: "block", "aria-label": spoken, alttext: spoken }, ...made);
}

// Text for the page with d_k, W^Q, W_i^Q and the like set as the paper sets them. values: for the {names} of the text;
// what they bring stays as it is, whatever a person typed.
export function anatomyRich(text, values = {}) {
  const parts = text.split(/\{(\w+)\}/);
  const filled = (name) => (name in values ? String(values[name]) : `{${name}}`);
  return parts.flatMap((part, i) => (i % 2 ? [filled(part)] : richSymbols(part)));
}

function richSymbols(text) {
  const made = [];
  let end = 0;
  for (const found of text.matchAll(MATH_SYMBOL)) {
    const [whole, first, index, power, second, only] = found;
    made.push(text.slice(end, found.index));
    end = found.index + whole.length;
    const below = index ? el("sub", null, index) : null;
    const above = power || only ? el("sup", null, power || only) : null;
    made.push(el("span", { class: "hs-an-symbol" }, el("i", null, first || second), below, above));
  }
  return [...made, text.slice(end)].filter((part) => part !== "");
}
