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
  element.append(...children);
  return element;
}

const sign = (text, more = {}) => mathEl("mo", more, text);
const fence = (text) => sign(text, { stretchy: "false" });
const gap = (width) => mathEl("mspace", { width: `${width}em` });
// Around a fraction: a larger bracket, lowered to its middle, for only fonts for mathematics let brackets grow.
const highBracket = (text) =>
  mathEl("mpadded", { voffset: "-0.26em" }, sign(text, { stretchy: "false", class: "hs-an-high" }));
const SIGNS = {
  "+": () => sign("+", { form: "infix" }), // also at the beginning of a part
  ",": () => sign(",", { separator: "true" }),
  "<": () => sign("<", { lspace: 0, rspace: 0 }),
  "~": () => gap(0.15),
  ";": () => gap(0.4),
};
const TOKENS = /\\frac|\{[\w.]+\||[A-Za-z]+|[\u0370-\u03ff]|\d+(?:\.\d+)?|./gsu;

// An equation written as "head_i = {split|(Q_i, K_i)} \\frac{a}{b}": _ and ^ as in LaTeX, √{} a root, ∑{n} a sum from
// j = 1 to n, {name|...} a named part, ~ and ; small gaps. A name right before a bracket is a function. step: the part
// that is highlighted. Returns MathML elements.
function mathOf(text, step = "") {
  const tokens = text.match(TOKENS) || [];
  let at = 0;
  const until = (end) => {
    const nodes = [];
    for (; at < tokens.length && tokens[at] !== end;) nodes.push(...term());
    at++;
    return nodes;
  };
  const row = (nodes) => (nodes.length === 1 ? nodes[0] : mathEl("mrow", {}, ...nodes));
  const group = () => row(tokens[at] === "{" ? (at++, until("}")) : [atom()]);
  const bracketed = () => {
    at++;
    const nodes = until(")");
    const bracket = nodes.some(({ localName }) => localName === "mfrac") ? highBracket : fence;
    return mathEl("mrow", {}, bracket("("), ...nodes, bracket(")"));
  };
  function atom() {
    if (tokens[at] === "(") return bracketed();
    const token = tokens[at++];
    if (token === "{") return mathEl("mrow", {}, ...until("}"));
    if (token.startsWith("{")) {
      const name = token.slice(1, -1);
      return mathEl("mrow", { "data-part": name, class: name === step ? "hs-an-lit" : null }, ...until("}"));
    }
    if (token === "\\frac") return mathEl("mfrac", {}, group(), group());
    if (token === "√") return mathEl("msqrt", {}, group());
    if (token === "∑") {
      const sum = sign("∑", { movablelimits: "false", largeop: "false", class: "hs-an-sum" });
      return mathEl("munderover", {}, sum, mathEl("mrow", {}, ...mathOf("j = 1")), group());
    }
    if (/^\d/.test(token)) return mathEl("mn", {}, token);
    if (/^[A-Za-z\u0370-\u03ff]/.test(token)) {
      // A letter stands in italics, a word upright; both in faces for text (anatomy.css): not all systems have faces for
      // mathematics.
      const name = mathEl("mi", { mathvariant: "normal", class: token.length > 1 ? "hs-an-word" : null }, token);
      return tokens[at] === "(" ? mathEl("mrow", {}, name, sign("\u2061"), bracketed()) : name;
    }
    if ("[]|".includes(token)) return fence(token);
    return (SIGNS[token] || (() => sign(token)))();
  }
  function term() {
    if (/\s/.test(tokens[at])) {
      at++;
      return [];
    }
    let node = atom();
    for (; tokens[at] === "_" || tokens[at] === "^";)
      node = mathEl(tokens[at++] === "_" ? "msub" : "msup", {}, node, group());
    return [node];
  }
  return until(null);
}

// The output of a sub-layer: LayerNorm(x + Sublayer(x)), or with pre-norm x + Sublayer(LayerNorm(x)) (section 3.1),
// without the parts that the model does not have. No row if it is Sublayer(x) itself.
function aroundSublayer({ norm, residual }, sublayer, { skipped }) {
  const added = skipped ? "0" : sublayer;
  if (residual === false && norm !== "post") return skipped ? [`${sublayer} → ${added}`] : [];
  const sum = residual === false ? added : `{x|x} {add|+ ${added}}`;
  return [norm === "post" ? `{norm|LayerNorm} (${sum})` : sum];
}

// x as the input: a part of its own if there is no residual connection with an x.
const entering = ({ residual }, name) => (residual === false && name === "x" ? "{x|x}" : name);
const inputOf = ({ norm }) => (norm === "pre" ? "z" : "x");
const normedRows = (config) => (config.norm === "pre" ? [`{norm|z = LayerNorm(${entering(config, "x")})}`] : []);

// Section 3.2: projections, equation 1, heads, and the parts around them.
function attentionRows(state, config, about) {
  const cross = state.place === "decoder.cross";
  const x = entering(config, inputOf(config));
  const memory = cross ? "memory ~" : x;
  const projected = (name, input) => `${name} = ${input} W^${name} + b^${name}`;
  const [queries, others] = [projected("Q", x), `${projected("K", memory)}, ; ${projected("V", memory)}`];
  const i = state.zoom === "sub" ? "i" : state.head + 1;
  const switched = state.zoom !== "sub" && (about.zero || about.replaced);
  const replaced = switched ? `{values|→ ${about.zero ? 0 : "…"}}` : "";
  const { heads } = config;
  const joined = { 1: "", 2: ", head_2" }[heads] ?? `, …, head_{${heads}}`;
  return [
    ...normedRows(config),
    ...(cross ? [`{project|${queries}}`, `{project|${others}}`] : [`{project|${queries}, ; ${others}}`]),
    `head_{${i}} = Attention {split|(Q_{${i}}, K_{${i}}, V_{${i}})} ${replaced}`,
    `Attention (Q, K, V) = {softmax|${["softmax", "uniform", "argmax"][about.rule || 0]}} ` +
      `(${scoresOf(config, about)} {mask|+ M}) {values|V}`,
    `MultiHead = {concat|Concat(head_1${joined})} {output|W^O + b^O}`,
    ...aroundSublayer(config, "MultiHead", about),
  ];
}

// Q K^T, divided by the root of d_k, or a switch's replacement.
function scoresOf(config, { factor }) {
  if (factor === 1 || (factor === undefined && !config.scaling)) return "{scale|{dot|Q K^T}}";
  if (factor !== undefined) return `{scale|${factor} ·} {dot|Q K^T}`;
  return `\\frac{{dot|Q K^T}}{{scale|√{${config.d_k}}}}`;
}

// Equation 2.
function feedForwardRows(state, config, about) {
  const input = inputOf(config);
  const word = { relu: "max", gelu: "GELU", swish: "swish" }[config.activation];
  const inner = `${config.activation === "relu" ? "0, " : ""}{inner|${entering(config, input)} W_1 + b_1}`;
  const row = `FFN(${input}) = {activation|${word}} (${inner}) {outer|W_2 + b_2}`;
  return [...normedRows(config), row, ...aroundSublayer(config, `FFN(${input})`, about)];
}

// Sections 3.4 and 3.5.
function embeddingRows(state, { embedding_scale, d_model, positions, layout }) {
  const sum = `x = {row|E[id]} ${embedding_scale ? `~ {times|√{${d_model}}}` : ""}`;
  if (positions === "none") return [sum];
  const rows = [`${sum} {plus|+ ${positions === "learned" ? "P" : "PE"} (pos)}`];
  if (positions === "learned") return rows;
  const fairseq = layout === "fairseq";
  const power = fairseq ? `i / ${d_model / 2 - 1}` : `2 i / ${d_model}`;
  const wave = (column, name) =>
    `PE (pos, ${column}) = ${name} (\\frac{${fairseq ? "pos + 2" : "pos"}}{10000^{${power}}})`;
  const halves = layout !== "interleaved"; // all sines before all cosines
  return [...rows, wave(halves ? "i" : "2 i", "sin"), wave(halves ? `${d_model / 2} + i` : "2 i + 1", "cos")];
}

// Section 3.4: the pre-softmax linear transformation is the embedding table. E, or W if the output has its own matrix.
function outputRows(state, { tied_output, output_bias }) {
  const logits = `{logits|{hidden|h_t} ~ ${tied_output ? "E" : "W"}^T ${output_bias ? "+ b" : ""}}`;
  return [`P ({choose|y_t} | {back|y_{<t}}, x) = {probabilities|softmax} (${logits})`];
}

// For the whole model: what a place does to x, on one line; the part of the place is highlighted.
function placeRow({ place }, config) {
  const input = inputOf(config);
  const name = isAttention(place) ? "MultiHead" : "FFN";
  const inputs = place === "decoder.cross" ? `${input}, memory` : input;
  const sum = `${config.residual === false ? "" : "x + "} {${place}|${name}(${inputs})}`;
  if (config.norm === "post") return `LayerNorm(${sum})`;
  return config.norm === "pre" ? `${sum}, ; z = LayerNorm(x)` : sum;
}

// The equation of a place with the part of the current step highlighted: a <math> element. t: the texts, for screen
// readers; about: what the switches replace in the model's arithmetic, see switchEffects.
export function equationOf(state, config, t, about = {}) {
  const { place } = state;
  const near = state.zoom !== "model" && state.zoom !== "layer";
  /** @type {[(place: string) => boolean, Function, string, string][]} */
  const sorts = [
    [isAttention, attentionRows, "attention", place],
    [isFeedForward, feedForwardRows, "ff", place],
    [isEmbedding, embeddingRows, "embedding", "row"],
    [() => true, outputRows, "output", "probabilities"],
  ];
  const [, rowsOf, sort, afar] = sorts.find(([holds]) => holds(place));
  const spoken = spokenEquation(sort, state, config, near, t, about);
  const whole = !near && (sort === "attention" || sort === "ff");
  const rows = whole ? [placeRow(state, config)] : rowsOf(state, config, about).slice(0, near ? Infinity : 1);
  const step = near ? (stepsOf(place, config).includes(state.step) ? state.step : "") : afar;
  const lines = rows.map((row) => mathEl("mtr", {}, mathEl("mtd", {}, ...mathOf(row, step))));
  const table = mathEl("mtable", { class: "hs-an-rows" }, ...lines);
  return mathEl("math", { class: "hs-an-math", "aria-label": spoken, alttext: spoken }, table);
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

// How one number of a step is computed, as mathOf reads it. r, c: its row and column, counted from 1.
const CELLS = {
  norm: (r, c, { norm, residual }) => {
    const read = norm === "pre" ? "x" : residual === false ? "u" : "s";
    return `γ_{${c}} \\frac{${read}_{${r},${c}} − μ_{${r}}}{σ_{${r}}} + β_{${c}}`;
  },
  project: (r, c, config, state) =>
    linearCell(
      r,
      c,
      state.place === "decoder.cross" && projectionOf(state) !== "queries" ? "m" : inputOf(config),
      config.d_model,
    ),
  dot: (r, c, { d_k }) => `∑{${d_k}} q_{${r},j} k_{${c},j}`,
  scale: (r, c, { scaling, d_k }, state, { factor }) => {
    const product = `q_{${r}} · k_{${c}}`;
    if (factor !== undefined && factor !== 1) return `${factor} · {${product}}`;
    return factor === 1 || !scaling ? product : `\\frac{${product}}{√{${d_k}}}`;
  },
  mask: (r, c) => `s_{${r},${c}} + M_{${r},${c}}`,
  softmax: (r, c) => `\\frac{e^{s_{${r},${c}}}}{∑{n} e^{s_{${r},j}}}`,
  values: (r, c) => `∑{n} w_{${r},j} v_{j,${c}}`,
  output: (r, c, { d_model }) => linearCell(r, c, "o", d_model),
  add: (r, c) => `x_{${r},${c}} + u_{${r},${c}}`,
  inner: (r, c, config) => linearCell(r, c, inputOf(config), config.d_model),
  activation: (r, c, { activation }) => {
    const p = `p_{${r},${c}}`;
    return activation === "relu" ? `max (0, ${p})` : `${p} · ${activation === "gelu" ? "Φ" : "σ"} (${p})`;
  },
  outer: (r, c, { d_ff }) => linearCell(r, c, "a", d_ff),
  times: (r, c, { embedding_scale, d_model }) => `{E[id]}_{${c}} ${embedding_scale ? `√{${d_model}}` : ""}`,
  plus: (r, c) => `e_{${r},${c}} + p_{${r},${c}}`,
};

// A row times a column, plus a bias. name: of the matrix that the row is of.
const linearCell = (r, c, name, width) => `∑{${width}} ${name}_{${r},j} W_{j,${c}} + b_{${c}}`;

// Steps whose result a switch replaces.
const REPLACED = {
  softmax: ({ rule }) => rule > 0,
  values: ({ zero, replaced }) => zero || replaced,
  output: ({ skipped }) => skipped,
  outer: ({ skipped }) => skipped,
  activation: ({ silenced = [] }, { col }) => silenced.includes(col),
};

// The arithmetic of the chosen number and its result (a text); null if a step computes nothing, or if a switch replaces
// its result. about: as in equationOf.
export function cellEquationOf(state, config, value, t, about = {}) {
  const make = CELLS[state.step];
  if (!make || state.col < 0 || (REPLACED[state.step] && REPLACED[state.step](about, state))) return null;
  const spoken = t("eq_cell", { row: state.row + 1, column: state.col + 1, value });
  // "2.32e-5" as 2.32 × 10^{-5}: an e would be read as that of e^x.
  const [digits, power] = value.split("e");
  const number = (text) => mathEl("mn", {}, text.replace("-", "−"));
  const ten = power === undefined ? [] : [sign("×"), mathEl("msup", {}, number("10"), number(power))];
  const result = mathEl("mrow", { class: "hs-an-lit" }, number(digits), ...ten);
  const parts = mathOf(`${make(state.row + 1, state.col + 1, config, state, about)} =`);
  return mathEl(
    "math",
    { class: "hs-an-math", display: "block", "aria-label": spoken, alttext: spoken },
    ...parts,
    result,
  );
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
