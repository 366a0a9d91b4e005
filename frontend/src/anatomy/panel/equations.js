import { el } from "../../core/dom.js";
import { chooseParticles } from "../../core/particles.js";
import { headsOf, projectionOf } from "./facts.js";
import { stepsOf, isAttention, isFeedForward, isEmbedding } from "../walk.js";

// The paper's equations in MathML, which browsers can draw. An equation has named parts, and the part that a step
// computes is highlighted. Differences of a model from the paper (biases, d_k, scaling, residual connections, norm) are
// written into it.

const NAMESPACE = "http://www.w3.org/1998/Math/MathML";
// d_k, W_1, y_t; W^Q, W_i^Q; √d_model is a root sign before one
const SYMBOL = /(?<![A-Za-z])([A-Za-z]+)_(model|head|ff|\w)(?!\w)(?:\^([A-Z]))?|(?<![A-Za-z])([A-Za-z])\^([A-Z])/g;

function mathEl(tag, attributes, ...children) {
  const element = document.createElementNS(NAMESPACE, tag);
  for (const [name, value] of Object.entries(attributes || {}))
    if (value !== null && value !== undefined) element.setAttribute(name, String(value));
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

// A letter stands in italics, a word upright; both in faces for text (anatomy.css): not all systems have faces for
// mathematics.
const nameOf = (text) => mathEl("mi", { mathvariant: "normal", class: text.length > 1 ? "hs-an-word" : null }, text);
const numberOf = (value) => mathEl("mn", null, String(value));
const signOf = (text, more) => mathEl("mo", more, text);
const rowOf = (...children) => mathEl("mrow", null, ...children);
const subscript = (base, index) => mathEl("msub", null, base, index);
const superscript = (base, power) => mathEl("msup", null, base, power);
const rootOf = (inside) => mathEl("msqrt", null, inside);
const fraction = (top, bottom) => mathEl("mfrac", null, top, bottom);
const equals = () => signOf("=");
const plus = () => signOf("+", { form: "infix" }); // also at the beginning of a part
const comma = () => signOf(",", { separator: "true" });
const gap = (width) => mathEl("mspace", { width: `${width}em` });
const fence = (text) => signOf(text, { stretchy: "false" });
const inParentheses = (...children) => rowOf(fence("("), ...children, fence(")"));
// Around a fraction: a larger bracket, lowered to its middle, for only fonts for mathematics let brackets grow.
const largeBracket = (text) => signOf(text, { stretchy: "false", class: "hs-an-high" });
const highBracket = (text) => mathEl("mpadded", { voffset: "-0.26em" }, largeBracket(text));
const inHighParentheses = (...children) => rowOf(highBracket("("), ...children, highBracket(")"));
const applyTo = (name, ...children) => rowOf(nameOf(name), signOf("\u2061"), inParentheses(...children));
const listOf = (items) => items.flatMap((item, i) => (i ? [comma(), item] : [item]));
const tableOf = (rows) =>
  mathEl("mtable", { class: "hs-an-rows" }, ...rows.map((row) => mathEl("mtr", null, mathEl("mtd", null, ...row))));

// part("scale", ...children): highlighted if the step has that name.
function partMaker(step) {
  const lit = (name) => (name === step ? "hs-an-lit" : null);
  return (name, ...children) => mathEl("mrow", { "data-part": name, class: lit(name) }, ...children);
}

// A function whose name alone is the part, so that its argument can be highlighted separately.
const applied = (part, name, word, ...children) => [part(name, nameOf(word)), inParentheses(...children)];

const projected = (name, input, letter) => [
  ...[nameOf(name), equals(), input, gap(input.textContent.length > 1 ? 0.15 : 0)],
  ...[superscript(nameOf("W"), nameOf(letter)), plus(), superscript(nameOf("b"), nameOf(letter))],
];

// The output of a sub-layer: LayerNorm(x + Sublayer(x)), or with pre-norm x + Sublayer(LayerNorm(x)) (section 3.1),
// without the parts that the model does not have. No row if it is Sublayer(x) itself.
function aroundSublayer(part, { norm, residual }, sublayer, { skipped }) {
  const added = skipped ? numberOf(0) : sublayer;
  if (residual === false && norm !== "post") return skipped ? [[sublayer, signOf("→"), added]] : [];
  const sum = residual === false ? [added] : [part("x", nameOf("x")), part("add", plus(), added)];
  return [norm === "post" ? applied(part, "norm", "LayerNorm", ...sum) : sum];
}

// x as the input: a part of its own if there is no residual connection with an x.
const enteringSublayer = (part, { residual }, name) =>
  residual === false && name === "x" ? part("x", nameOf(name)) : nameOf(name);
const normedInput = (part, config) => [
  part("norm", nameOf("z"), equals(), applyTo("LayerNorm", enteringSublayer(part, config, "x"))),
];

// Section 3.2: projections, equation 1, heads, and the parts around them.
function attentionRows(state, config, part, about) {
  const cross = state.place === "decoder.cross";
  const pre = config.norm === "pre";
  const input = pre ? "z" : "x";
  const memory = () => (cross ? nameOf("memory") : enteringSublayer(part, config, input));
  const [queries, keys, values] = [
    projected("Q", enteringSublayer(part, config, input), "Q"),
    projected("K", memory(), "K"),
    projected("V", memory(), "V"),
  ];
  const rows = pre ? [normedInput(part, config)] : [];
  const beside = (...parts) => parts.flatMap((part, i) => (i ? [comma(), gap(0.4), ...part] : part));
  if (cross) rows.push([part("project", ...queries)], [part("project", ...beside(keys, values))]);
  else rows.push([part("project", ...beside(queries, keys, values))]);
  const index = () => (state.zoom === "sub" ? nameOf("i") : numberOf(state.head + 1));
  const each = ["Q", "K", "V"].map((name) => subscript(nameOf(name), index()));
  const heads = part("split", inParentheses(...listOf(each)));
  const switched = state.zoom !== "sub" && (about.zero || about.replaced);
  const out = switched ? [part("values", signOf("→"), about.zero ? numberOf(0) : signOf("…"))] : [];
  rows.push([subscript(nameOf("head"), index()), equals(), nameOf("Attention"), heads, ...out]);
  const scores = scoresOf(config, part, about);
  const bracketed = scores.some(({ localName }) => localName === "mfrac") ? inHighParentheses : inParentheses;
  rows.push([
    ...[nameOf("Attention"), inParentheses(...listOf(["Q", "K", "V"].map(nameOf))), equals()],
    part("softmax", nameOf(["softmax", "uniform", "argmax"][about.rule || 0])),
    bracketed(...scores, part("mask", plus(), nameOf("M"))),
    part("values", nameOf("V")),
  ]);
  const head = (n) => subscript(nameOf("head"), numberOf(n));
  const between = { 1: [], 2: [head(2)] }[config.heads] || [signOf("…"), head(config.heads)];
  const joined = listOf([head(1), ...between]);
  rows.push([
    ...[nameOf("MultiHead"), equals(), part("concat", applyTo("Concat", ...joined))],
    part("output", superscript(nameOf("W"), nameOf("O")), plus(), superscript(nameOf("b"), nameOf("O"))),
  ]);
  rows.push(...aroundSublayer(part, config, nameOf("MultiHead"), about));
  return rows;
}

// Q K^T, divided by the root of d_k, or a switch's replacement.
function scoresOf(config, part, about) {
  const dot = () => part("dot", nameOf("Q"), superscript(nameOf("K"), nameOf("T")));
  const { factor } = about;
  if (factor === 1 || (factor === undefined && !config.scaling)) return [part("scale", dot())];
  if (factor !== undefined) return [part("scale", numberOf(factor), signOf("·")), dot()];
  const below = part("scale", rootOf(numberOf(config.d_k)));
  return [fraction(dot(), below)];
}

// Equation 2.
function feedForwardRows(state, config, part, about) {
  const indexed = (letter, n) => subscript(nameOf(letter), numberOf(n));
  const linear = (x, n) => [x, indexed("W", n), plus(), indexed("b", n)];
  const pre = config.norm === "pre";
  const input = pre ? "z" : "x";
  const inner = part("inner", ...linear(enteringSublayer(part, config, input), 1));
  const relu = config.activation === "relu" ? [numberOf(0), comma()] : [];
  const word = { relu: "max", gelu: "GELU", swish: "swish" }[config.activation];
  const active = applied(part, "activation", word, ...relu, inner);
  const rows = pre ? [normedInput(part, config)] : [];
  const outer = part("outer", ...linear(null, 2));
  rows.push([applyTo("FFN", nameOf(input)), equals(), ...active, outer]);
  rows.push(...aroundSublayer(part, config, applyTo("FFN", nameOf(input)), about));
  return rows;
}

// Sections 3.4 and 3.5.
function embeddingRows(state, config, part) {
  const row = part("row", nameOf("E"), fence("["), nameOf("id"), fence("]"));
  const times = config.embedding_scale ? part("times", rootOf(numberOf(config.d_model))) : null;
  const sum = [nameOf("x"), equals(), row, ...(times ? [gap(0.15), times] : [])];
  if (config.positions === "none") return [[...sum]];
  const table = config.positions === "learned" ? "P" : "PE";
  const rows = [[...sum, part("plus", plus(), nameOf(table), inParentheses(nameOf("pos")))]];
  if (config.positions === "learned") return rows;
  const double = () => rowOf(numberOf(2), nameOf("i"));
  const fairseq = config.layout === "fairseq";
  const power = () =>
    fairseq
      ? rowOf(nameOf("i"), signOf("/"), numberOf(config.d_model / 2 - 1))
      : rowOf(double(), signOf("/"), numberOf(config.d_model));
  const place = () => (fairseq ? rowOf(nameOf("pos"), plus(), numberOf(2)) : nameOf("pos"));
  const angle = () => inHighParentheses(fraction(place(), superscript(numberOf(10000), power())));
  const wave = (column, sign) => [
    ...[nameOf("PE"), inParentheses(nameOf("pos"), comma(), ...column), equals()],
    ...[nameOf(sign), angle()],
  ];
  const halves = config.layout !== "interleaved"; // all sines before all cosines
  const [i, half] = [nameOf("i"), numberOf(config.d_model / 2)];
  rows.push([...wave([halves ? i : double()], "sin")]);
  rows.push([...wave(halves ? [half, plus(), nameOf("i")] : [double(), plus(), numberOf(1)], "cos")]);
  return rows;
}

// Section 3.4: the pre-softmax linear transformation is the embedding table. E, or W if the output has its own matrix.
function outputRows(state, config, part) {
  const t = () => nameOf("t");
  const before = subscript(nameOf("y"), rowOf(signOf("<", { lspace: 0, rspace: 0 }), t()));
  const next = part("choose", subscript(nameOf("y"), t()));
  const condition = [fence("|"), part("back", before), comma(), nameOf("x")];
  const table = superscript(nameOf(config.tied_output ? "E" : "W"), nameOf("T"));
  const bias = config.output_bias ? [plus(), nameOf("b")] : [];
  const logits = part("logits", part("hidden", subscript(nameOf("h"), t())), gap(0.15), table, ...bias);
  const softmax = applied(part, "probabilities", "softmax", logits);
  return [[nameOf("P"), inParentheses(next, ...condition), equals(), ...softmax]];
}

// For the whole model: what a place does to x, on one line.
function placeRows(state, config) {
  const lit = (...children) => mathEl("mrow", { "data-part": state.place, class: "hs-an-lit" }, ...children);
  const pre = config.norm === "pre";
  const input = nameOf(pre ? "z" : "x");
  if (isEmbedding(state.place)) return [embeddingRows(state, config, partMaker("row"))[0]];
  if (state.place === "output") return [outputRows(state, config, partMaker("probabilities"))[0]];
  const name = isAttention(state.place) ? "MultiHead" : "FFN";
  const inputs = { "decoder.cross": [input, nameOf("memory")] }[state.place] || [input];
  const past = config.residual === false ? [] : [nameOf("x"), plus()];
  const sum = [...past, lit(applyTo(name, ...listOf(inputs)))];
  if (config.norm === "post") return [[applyTo("LayerNorm", ...sum)]];
  if (!pre) return [sum];
  return [[...sum, comma(), gap(0.5), nameOf("z"), equals(), applyTo("LayerNorm", nameOf("x"))]];
}

// The equation of a place with the part of the current step highlighted: a <math> element. t: the texts, for screen
// readers; about: what the switches replace in the model's arithmetic, see switchedText.
export function equationOf(state, config, t, about = {}) {
  const near = state.zoom !== "model" && state.zoom !== "layer";
  const part = partMaker(stepsOf(state.place, config).includes(state.step) ? state.step : "");
  /** @type {[(place: string) => boolean, Function, string][]} */
  const sorts = [
    [isAttention, attentionRows, "attention"],
    [isFeedForward, feedForwardRows, "ff"],
    [isEmbedding, embeddingRows, "embedding"],
    [() => true, outputRows, "output"],
  ];
  const [, rows, sort] = sorts.find(([holds]) => holds(state.place));
  const spoken = spokenEquation(sort, state, config, near, t, about);
  const lines = near ? rows(state, config, part, about) : placeRows(state, config);
  return mathEl("math", { class: "hs-an-math", "aria-label": spoken, alttext: spoken }, tableOf(lines));
}

// The equation as it is read aloud, one sentence per row.
export function spokenEquation(sort, { place }, config, near, t, about) {
  if (sort === "embedding")
    return t((config.embedding_scale ? "eq_row_" : "eq_row_unscaled_") + config.positions, config);
  if (sort === "output")
    return t((config.tied_output ? "eq_output_tied" : "eq_output_own") + (config.output_bias ? "_bias" : ""));
  if (!near) return t("eq_place_" + config.norm + (config.residual === false ? "_alone" : ""));
  const input = config.norm === "pre" ? "z" : "x";
  const values = { ...config, input, factor: about.factor, heads_named: headsOf(config, t) };
  const inputs = place === "decoder.cross" ? "eq_inputs_cross" : "eq_inputs";
  const rows = sort === "ff" ? ["eq_ff_" + config.activation] : [inputs, spokenScores(config, about), "eq_heads"];
  return [...(config.norm === "pre" ? ["eq_normed"] : []), ...rows].map((key) => t(key, values)).join(" ");
}

function spokenScores({ scaling }, { factor, rule }) {
  if (rule) return rule === 1 ? "eq_scores_uniform" : "eq_scores_argmax";
  if (factor === 1 || (factor === undefined && !scaling)) return "eq_scores_unscaled";
  return factor === undefined ? "eq_scores" : "eq_scores_factor";
}

const indexed = (name, ...indices) => subscript(nameOf(name), rowOf(...listOf(indices.map(indexOf))));
const indexOf = (value) => (typeof value === "number" ? numberOf(value) : nameOf(value));
const fromTo = () => rowOf(nameOf("j"), equals(), numberOf(1));
const sigma = () => signOf("∑", { movablelimits: "false", largeop: "false", class: "hs-an-sum" });
const sum = (last, ...children) => [mathEl("munderover", null, sigma(), fromTo(), indexOf(last)), ...children];
const power = (...exponent) => superscript(nameOf("e"), rowOf(...exponent));

// A row times a column, plus a bias. name: of the matrix that the row is of, or a function that says it.
function linearCell(name, width) {
  const bias = (c) => [plus(), indexed("b", c)];
  const letter = (config, state) => (typeof name === "string" ? name : name(config, state));
  return (r, c, config, state) =>
    sum(config[width], indexed(letter(config, state), r, "j"), indexed("W", "j", c), ...bias(c));
}

// The first operand of a sub-layer's first product: x, with pre-norm z = LayerNorm(x), for K and V of cross-attention
// m, memory.
const subInput = ({ norm }) => (norm === "pre" ? "z" : "x");
const projectInput = (config, state) =>
  state.place === "decoder.cross" && projectionOf(state) !== "queries" ? "m" : subInput(config);

// How one number of a step is computed. r, c: its row and column, counted from 1.
const CELLS = {
  norm: (r, c, config) => {
    const read = indexed(config.norm === "pre" ? "x" : config.residual === false ? "u" : "s", r, c);
    const centred = fraction(rowOf(read, signOf("−"), indexed("μ", r)), indexed("σ", r));
    return [indexed("γ", c), centred, plus(), indexed("β", c)];
  },
  project: linearCell(projectInput, "d_model"),
  dot: (r, c, config) => sum(config.d_k, indexed("q", r, "j"), indexed("k", c, "j")),
  scale: (r, c, config, state, { factor }) =>
    scaledCell(rowOf(indexed("q", r), signOf("·"), indexed("k", c)), config, factor),
  mask: (r, c) => [indexed("s", r, c), plus(), indexed("M", r, c)],
  softmax: (r, c) => [fraction(power(indexed("s", r, c)), rowOf(...sum("n", power(indexed("s", r, "j")))))],
  values: (r, c) => sum("n", indexed("w", r, "j"), indexed("v", "j", c)),
  output: linearCell("o", "d_model"),
  add: (r, c) => [indexed("x", r, c), plus(), indexed("u", r, c)],
  inner: linearCell(subInput, "d_model"),
  activation: (r, c, config) =>
    config.activation === "relu"
      ? [nameOf("max"), inParentheses(numberOf(0), comma(), indexed("p", r, c))]
      : [
          ...[indexed("p", r, c), signOf("·"), nameOf(config.activation === "gelu" ? "Φ" : "σ")],
          inParentheses(indexed("p", r, c)),
        ],
  outer: linearCell("a", "d_ff"),
  times: (r, c, config) => [
    subscript(indexedRow("E", "id"), numberOf(c)),
    ...(config.embedding_scale ? [rootOf(numberOf(config.d_model))] : []),
  ],
  plus: (r, c) => [indexed("e", r, c), plus(), indexed("p", r, c)],
};
const indexedRow = (table, id) => rowOf(nameOf(table), fence("["), nameOf(id), fence("]"));

// Steps whose result a switch replaces.
const REPLACED = {
  softmax: ({ rule }) => rule > 0,
  values: ({ zero, replaced }) => zero || replaced,
  output: ({ skipped }) => skipped,
  outer: ({ skipped }) => skipped,
  activation: ({ silenced = [] }, { col }) => silenced.includes(col),
};

function scaledCell(product, config, factor) {
  if (factor !== undefined && factor !== 1) return [numberOf(factor), signOf("·"), product];
  return factor === 1 || !config.scaling ? [product] : [fraction(product, rootOf(numberOf(config.d_k)))];
}

// "2.32e-5" as 2.32 × 10^{-5}: an e would be read as that of e^x.
function valueOf(text) {
  const [digits, power] = text.split("e");
  if (power === undefined) return [numberOf(text)];
  const ten = superscript(numberOf(10), numberOf(power.replace("-", "−")));
  return [numberOf(digits), signOf("×"), ten];
}

// The arithmetic of the chosen number and its result (a text); null if a step computes nothing, or if a switch replaces
// its result. about: as in equationOf.
export function cellEquationOf(state, config, value, t, about = {}) {
  const make = CELLS[state.step];
  if (!make || state.col < 0 || (REPLACED[state.step] && REPLACED[state.step](about, state))) return null;
  const parts = make(state.row + 1, state.col + 1, config, state, about);
  const spoken = t("eq_cell", { row: state.row + 1, column: state.col + 1, value });
  const row = [...parts, equals(), mathEl("mrow", { class: "hs-an-lit" }, ...valueOf(value))];
  return mathEl("math", { class: "hs-an-math", display: "block", "aria-label": spoken, alttext: spoken }, ...row);
}

// Text for the page with d_k, W^Q, W_i^Q and the like set as in the paper. values: for the {names} of the text; they
// are inserted unchanged, whatever a user typed.
export function richText(text, values = {}) {
  const parts = text.split(/\{(\w+)\}/);
  const filled = (name) => (name in values ? String(values[name]) : `{${name}}`);
  let before = "";
  return parts.flatMap((part, i) => {
    const piece = i % 2 ? filled(part) : chooseParticles(before + part).slice(before.length);
    before += piece;
    return i % 2 ? [piece] : richSymbols(piece);
  });
}

function richSymbols(text) {
  const pieces = [];
  let end = 0;
  for (const match of text.matchAll(SYMBOL)) {
    const [whole, first, index, power, second, only] = match;
    pieces.push(text.slice(end, match.index));
    end = match.index + whole.length;
    const below = index ? el("sub", null, index) : null;
    const above = power || only ? el("sup", null, power || only) : null;
    pieces.push(el("span", { class: "hs-an-symbol" }, el("i", null, first || second), below, above));
  }
  return [...pieces, text.slice(end)].filter((part) => part !== "");
}
