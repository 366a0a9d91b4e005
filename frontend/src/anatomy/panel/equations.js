import { el } from "../../core/dom.js";
import { factsHeads, factsProjected } from "./facts.js";
import { stepsOf, isAttention, isFeedForward, isEmbedding } from "../walk.js";

// The paper's equations in MathML, which browsers set by themselves. An equation is made of named parts, and the part
// that a step computes is lit. What a model has differently from the paper (biases, d_k, scaling, residual connections,
// norm) is written so.

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
  ...[mathName(name), mathEquals(), input, mathGap(input.textContent.length > 1 ? 0.15 : 0)],
  ...[mathSup(mathName("W"), mathName(letter)), mathPlus(), mathSup(mathName("b"), mathName(letter))],
];

// What leaves a sub-layer: LayerNorm(x + Sublayer(x)), or with pre-norm x + Sublayer(LayerNorm(x)) (section 3.1), each
// without what the model has not. No row where it is Sublayer(x) itself.
function mathAround(part, { norm, residual }, sublayer, { skipped }) {
  const added = skipped ? mathNumber(0) : sublayer;
  if (residual === false && norm !== "post") return skipped ? [[sublayer, mathSign("→"), added]] : [];
  const sum = residual === false ? [added] : [part("x", mathName("x")), part("add", mathPlus(), added)];
  return [norm === "post" ? mathApplied(part, "norm", "LayerNorm", ...sum) : sum];
}

// x where it comes in: a part of its own where no residual connection has one.
const mathEntering = (part, { residual }, name) =>
  residual === false && name === "x" ? part("x", mathName(name)) : mathName(name);
const mathNormed = (part, config) => [
  part("norm", mathName("z"), mathEquals(), mathOf("LayerNorm", mathEntering(part, config, "x"))),
];

// Section 3.2: projections, equation 1, heads, and what goes around them.
function attentionRows(state, config, part, about) {
  const cross = state.place === "decoder.cross";
  const pre = config.norm === "pre";
  const input = pre ? "z" : "x";
  const memory = () => (cross ? mathName("memory") : mathEntering(part, config, input));
  const [queries, keys, values] = [
    projected("Q", mathEntering(part, config, input), "Q"),
    projected("K", memory(), "K"),
    projected("V", memory(), "V"),
  ];
  const rows = pre ? [mathNormed(part, config)] : [];
  const beside = (...parts) => parts.flatMap((one, i) => (i ? [mathComma(), mathGap(0.4), ...one] : one));
  if (cross) rows.push([part("project", ...queries)], [part("project", ...beside(keys, values))]);
  else rows.push([part("project", ...beside(queries, keys, values))]);
  const index = () => (state.zoom === "sub" ? mathName("i") : mathNumber(state.head + 1));
  const each = ["Q", "K", "V"].map((name) => mathSub(mathName(name), index()));
  const heads = part("split", mathIn(...mathList(each)));
  const out = about.zero && state.zoom !== "sub" ? [part("values", mathSign("→"), mathNumber(0))] : [];
  rows.push([mathSub(mathName("head"), index()), mathEquals(), mathName("Attention"), heads, ...out]);
  const scores = scoresOf(config, part, about);
  const bracketed = scores.some(({ localName }) => localName === "mfrac") ? mathInHigh : mathIn;
  rows.push([
    ...[mathName("Attention"), mathIn(...mathList(["Q", "K", "V"].map(mathName))), mathEquals()],
    part("softmax", mathName(["softmax", "uniform", "argmax"][about.rule || 0])),
    bracketed(...scores, part("mask", mathPlus(), mathName("M"))),
    part("values", mathName("V")),
  ]);
  const head = (n) => mathSub(mathName("head"), mathNumber(n));
  const between = { 1: [], 2: [head(2)] }[config.heads] || [mathSign("…"), head(config.heads)];
  const joined = mathList([head(1), ...between]);
  rows.push([
    ...[mathName("MultiHead"), mathEquals(), part("concat", mathOf("Concat", ...joined))],
    part("output", mathSup(mathName("W"), mathName("O")), mathPlus(), mathSup(mathName("b"), mathName("O"))),
  ]);
  rows.push(...mathAround(part, config, mathName("MultiHead"), about));
  return rows;
}

// Q K^T, divided by the root of d_k, or what a switch puts in its place.
function scoresOf(config, part, about) {
  const dot = () => part("dot", mathName("Q"), mathSup(mathName("K"), mathName("T")));
  const { factor } = about;
  if (factor === 1 || (factor === undefined && !config.scaling)) return [part("scale", dot())];
  if (factor !== undefined) return [part("scale", mathNumber(factor), mathSign("·")), dot()];
  const below = part("scale", mathRoot(mathNumber(config.d_k)));
  return [mathOver(dot(), below)];
}

// Equation 2.
function feedForwardRows(state, config, part, about) {
  const indexed = (letter, n) => mathSub(mathName(letter), mathNumber(n));
  const linear = (x, n) => [x, indexed("W", n), mathPlus(), indexed("b", n)];
  const pre = config.norm === "pre";
  const input = pre ? "z" : "x";
  const inner = part("inner", ...linear(mathEntering(part, config, input), 1));
  const relu = config.activation === "relu" ? [mathNumber(0), mathComma()] : [];
  const word = { relu: "max", gelu: "GELU", swish: "swish" }[config.activation];
  const active = mathApplied(part, "activation", word, ...relu, inner);
  const rows = pre ? [mathNormed(part, config)] : [];
  const outer = part("outer", ...linear(null, 2));
  rows.push([mathOf("FFN", mathName(input)), mathEquals(), ...active, outer]);
  rows.push(...mathAround(part, config, mathOf("FFN", mathName(input)), about));
  return rows;
}

// Sections 3.4 and 3.5.
function embeddingRows(state, config, part) {
  const row = part("row", mathName("E"), mathFence("["), mathName("id"), mathFence("]"));
  const times = config.embedding_scale ? part("times", mathRoot(mathNumber(config.d_model))) : null;
  const sum = [mathName("x"), mathEquals(), row, ...(times ? [mathGap(0.15), times] : [])];
  if (config.positions === "none") return [[...sum]];
  const table = config.positions === "learned" ? "P" : "PE";
  const rows = [[...sum, part("plus", mathPlus(), mathName(table), mathIn(mathName("pos")))]];
  if (config.positions === "learned") return rows;
  const double = () => mathRow(mathNumber(2), mathName("i"));
  const power = () => mathRow(double(), mathSign("/"), mathNumber(config.d_model));
  const angle = () => mathInHigh(mathOver(mathName("pos"), mathSup(mathNumber(10000), power())));
  const wave = (column, wanted) => [
    ...[mathName("PE"), mathIn(mathName("pos"), mathComma(), ...column), mathEquals()],
    ...[mathName(wanted), angle()],
  ];
  const halves = config.layout === "halves"; // all sines before all cosines
  const [i, half] = [mathName("i"), mathNumber(config.d_model / 2)];
  rows.push([...wave([halves ? i : double()], "sin")]);
  rows.push([...wave(halves ? [half, mathPlus(), mathName("i")] : [double(), mathPlus(), mathNumber(1)], "cos")]);
  return rows;
}

// Section 3.4: the pre-softmax linear transformation is the embedding table. E, or W where it is a matrix of its own.
function outputRows(state, config, part) {
  const t = () => mathName("t");
  const before = mathSub(mathName("y"), mathRow(mathSign("<", { lspace: 0, rspace: 0 }), t()));
  const next = part("choose", mathSub(mathName("y"), t()));
  const given = [mathFence("|"), part("back", before), mathComma(), mathName("x")];
  const table = mathSup(mathName(config.tied_output ? "E" : "W"), mathName("T"));
  const bias = config.output_bias ? [mathPlus(), mathName("b")] : [];
  const logits = part("logits", part("hidden", mathSub(mathName("h"), t())), mathGap(0.15), table, ...bias);
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
  const past = config.residual === false ? [] : [mathName("x"), mathPlus()];
  const sum = [...past, lit(mathOf(name, ...mathList(inputs)))];
  if (config.norm === "post") return [[mathOf("LayerNorm", ...sum)]];
  if (!pre) return [sum];
  return [[...sum, mathComma(), mathGap(0.5), mathName("z"), mathEquals(), mathOf("LayerNorm", mathName("x"))]];
}

// The equation of a place, the part that the step computes lit: a <math> element. t: the texts, for what is spoken;
// about: what the switches put in the place of the model's arithmetic, see factsSwitched.
export function equationOf(state, config, t, about = {}) {
  const near = state.zoom !== "model" && state.zoom !== "layer";
  const part = partMaker(stepsOf(state.place, config).includes(state.step) ? state.step : "");
  const sorts = [
    [isAttention, attentionRows, "attention"],
    [isFeedForward, feedForwardRows, "ff"],
    [isEmbedding, embeddingRows, "embedding"],
    [() => true, outputRows, "output"],
  ];
  const [, rows, sort] = sorts.find(([holds]) => holds(state.place));
  const spoken = spokenEquation(sort, state, config, near, t, about);
  const made = near ? rows(state, config, part, about) : placeRows(state, config);
  return mathEl("math", { class: "hs-an-math", "aria-label": spoken, alttext: spoken }, mathTable(made));
}

// The equation as it is read out, a sentence for each of its rows.
function spokenEquation(sort, { place }, config, near, t, about) {
  if (sort === "embedding")
    return t(config.embedding_scale ? "eq_row" : "eq_row_off", config) + t("eq_plus_" + config.positions);
  if (sort === "output") {
    const table = t(config.tied_output ? "eq_table" : "eq_table_own");
    return t("eq_output", { table, bias: config.output_bias ? t("eq_bias") : "" });
  }
  if (!near) return t("eq_place_" + config.norm + (config.residual === false ? "_alone" : ""));
  const input = config.norm === "pre" ? "z" : "x";
  const values = { ...config, input, factor: about.factor, heads_named: factsHeads(config) };
  const inputs = place === "decoder.cross" ? "eq_inputs_cross" : "eq_inputs";
  const said = sort === "ff" ? ["eq_ff_" + config.activation] : [inputs, spokenScores(config, about), "eq_heads"];
  return [...(config.norm === "pre" ? ["eq_normed"] : []), ...said].map((key) => t(key, values)).join(" ");
}

function spokenScores({ scaling }, { factor, rule }) {
  if (rule) return rule === 1 ? "eq_scores_uniform" : "eq_scores_argmax";
  if (factor === 1 || (factor === undefined && !scaling)) return "eq_scores_unscaled";
  return factor === undefined ? "eq_scores" : "eq_scores_factor";
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

// A row times a column, plus a bias. name: of the matrix that the row is of, or a function that says it.
function linearCell(name, width) {
  const bias = (c) => [mathPlus(), mathAt("b", c)];
  const letter = (config, state) => (typeof name === "string" ? name : name(config, state));
  return (r, c, config, state) =>
    mathSum(config[width], mathAt(letter(config, state), r, "j"), mathAt("W", "j", c), ...bias(c));
}

// What the first matrices of a sub-layer multiply: x, with pre-norm z = LayerNorm(x), for K and V of cross-attention
// m, memory.
const subInput = ({ norm }) => (norm === "pre" ? "z" : "x");
const projectInput = (config, state) =>
  state.place === "decoder.cross" && factsProjected(state) !== "queries" ? "m" : subInput(config);

// How one number of a step is made. r, c: its row and column, counted from 1.
const MATH_CELLS = {
  norm: (r, c, config) => {
    const read = mathAt(config.norm === "pre" ? "x" : config.residual === false ? "u" : "s", r, c);
    const centred = mathOver(mathRow(read, mathSign("−"), mathAt("μ", r)), mathAt("σ", r));
    return [mathAt("γ", c), centred, mathPlus(), mathAt("β", c)];
  },
  project: linearCell(projectInput, "d_model"),
  dot: (r, c, config) => mathSum(config.d_k, mathAt("q", r, "j"), mathAt("k", c, "j")),
  scale: (r, c, config, state, { factor }) =>
    scaledCell(mathRow(mathAt("q", r), mathSign("·"), mathAt("k", c)), config, factor),
  mask: (r, c) => [mathAt("s", r, c), mathPlus(), mathAt("M", r, c)],
  softmax: (r, c) => [mathOver(mathPower(mathAt("s", r, c)), mathRow(...mathSum("n", mathPower(mathAt("s", r, "j")))))],
  values: (r, c) => mathSum("n", mathAt("w", r, "j"), mathAt("v", "j", c)),
  output: linearCell("o", "d_model"),
  add: (r, c) => [mathAt("x", r, c), mathPlus(), mathAt("u", r, c)],
  inner: linearCell(subInput, "d_model"),
  activation: (r, c, config) =>
    config.activation === "relu"
      ? [mathName("max"), mathIn(mathNumber(0), mathComma(), mathAt("p", r, c))]
      : [
          ...[mathAt("p", r, c), mathSign("·"), mathName(config.activation === "gelu" ? "Φ" : "σ")],
          mathIn(mathAt("p", r, c)),
        ],
  outer: linearCell("a", "d_ff"),
  times: (r, c, config) => [
    mathSub(mathRowOf("E", "id"), mathNumber(c)),
    ...(config.embedding_scale ? [mathRoot(mathNumber(config.d_model))] : []),
  ],
  plus: (r, c) => [mathAt("e", r, c), mathPlus(), mathAt("p", r, c)],
};
const mathRowOf = (table, id) => mathRow(mathName(table), mathFence("["), mathName(id), mathFence("]"));

// Where a switch puts something else in the place of what a step computes.
const MATH_REPLACED = {
  softmax: ({ rule }) => rule > 0,
  values: ({ zero }) => zero,
  output: ({ skipped }) => skipped,
  outer: ({ skipped }) => skipped,
  activation: ({ silenced = [] }, { col }) => silenced.includes(col),
};

function scaledCell(product, config, factor) {
  if (factor !== undefined && factor !== 1) return [mathNumber(factor), mathSign("·"), product];
  return factor === 1 || !config.scaling ? [product] : [mathOver(product, mathRoot(mathNumber(config.d_k)))];
}

// "2.32e-5" as 2.32 × 10^{-5}: an e would be read as that of e^x.
function mathValue(text) {
  const [digits, power] = text.split("e");
  if (power === undefined) return [mathNumber(text)];
  const ten = mathSup(mathNumber(10), mathNumber(power.replace("-", "−")));
  return [mathNumber(digits), mathSign("×"), ten];
}

// The arithmetic of the chosen number and what it comes to (a text); null where a step computes nothing, or a switch
// puts something else in its place. about: as in equationOf.
export function cellEquationOf(state, config, value, t, about = {}) {
  const make = MATH_CELLS[state.step];
  if (!make || state.col < 0 || (MATH_REPLACED[state.step] && MATH_REPLACED[state.step](about, state))) return null;
  const parts = make(state.row + 1, state.col + 1, config, state, about);
  const spoken = t("eq_cell", { row: state.row + 1, column: state.col + 1, value });
  const made = [...parts, mathEquals(), mathEl("mrow", { class: "hs-an-lit" }, ...mathValue(value))];
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
