import { SYMBOLS, weightsOf } from "../data.js";
import { formatNumber, formatCount } from "../format.js";
import { matrixOf } from "../matrix.js";
import { traceName, placeName, stackOf, isAttention, isFeedForward, isEmbedding } from "../walk.js";
import { EXPLANATIONS } from "../words/explanations.js";

// What the panel says about a state: which of its texts, and the numbers in them.

export const isNear = ({ zoom }) => zoom !== "model" && zoom !== "layer";

// Which of the three projections a state is about.
export const projectionOf = ({ matrix }) => (["keys", "values"].includes(matrix) ? matrix : "queries");

// Whether the word that follows a decoding step is the model's own prediction: otherwise it is given, or was chosen
// without the switches.
export const isPredicted = ({ header, outputs }, t) => header.own && outputs.chosen_rank[t] === 0;

// Whether a switch has removed the causal mask: in the open layer of the decoder, or (anywhere) in any layer.
export function isCausalOff({ decoder }, { header, steps }, anywhere = false) {
  const { causal = "" } = header.holding || {};
  const opens = (entry) => {
    const [value, target = "all"] = entry.split("@");
    const [kind, layer = "*"] = target.split(".");
    const matchesLayer = anywhere || layer === "*" || Number(layer) === decoder + 1;
    return value === "off" && (kind === "all" || kind === "decoder_self") && matchesLayer;
  };
  return steps > 1 && causal.split(",").some(opens); // a single row has no later tokens
}

// The softmax of the logits, a row over the vocabulary.
export function probabilitiesOf(logits) {
  const { data } = logits;
  const top = data.reduce((most, value) => Math.max(most, value), -Infinity);
  const numbers = Float64Array.from(data, (value) => Math.exp(value - top));
  const total = numbers.reduce((sum, value) => sum + value, 0);
  const { id, rows, cols, shape, axes, exact } = logits;
  const about = { id: id + "|softmax", name: "probabilities", data: numbers.map((value) => value / total), rows, cols };
  return matrixOf({ ...about, shape, axes, exact, top: 1, range: [0, 1], masked: false });
}

const ROUNDING = 1e-6;

// How two matrices differ, apart from rounding: the largest change of a number, and how many cells only one of them
// masks.
export function changeOf(after, before) {
  const change = { most: 0, cells: 0 };
  if (!before || before.data.length !== after.data.length) return change;
  after.data.forEach((value, i) => {
    const far = Math.abs(value - before.data[i]); // NaN: both are masked
    if (far === Infinity) change.cells++;
    else if (far > change.most && far > ROUNDING) change.most = far;
  });
  return change;
}

// Whether the model was made without the causal mask, so that there is no mask to remove.
export const isUnmasked = ({ config }) => config.causal === false;

// The ending of a key about masked self-attention: other endings if it is not masked.
export function maskSuffix(state, data) {
  if (state.place !== "decoder.self") return "";
  return isUnmasked(data) ? "_bare" : isCausalOff(state, data) ? "_off" : "";
}

// The ending of a key about residual connections: another ending if the model has none.
const aloneSuffix = ({ config }) => (config.residual === false ? "_alone" : "");

// All heads of a tensor if one head is chosen but all are drawn.
export function wholeRow({ zoom }, data, matrix) {
  return (zoom === "sub" && isOneHead(matrix) && data.matrix("place." + matrix.name)) || matrix;
}

// Whether a matrix is one head's part of a tensor of heads.
export function isOneHead(matrix) {
  const { shape, axes, rows, cols } = matrix;
  return axes[1] === "head" && shape.length === 4 && rows === shape[2] && cols === shape[3];
}

// The side whose colours a matrix of a place has: blue for the encoder, orange for the decoder, purple for what
// cross-attention computes from both.
export function sideOf(place, name) {
  if (place !== "decoder.cross") return stackOf(place) === "encoder" ? "source" : "target";
  if (["keys", "values", "memory"].includes(name)) return "source";
  return ["queries", "x", "normed", "sum", "leaves", "enters"].includes(name) ? "target" : "cross";
}

// The factor of the scores where a switch has changed it, else null.
function factorOf(state, data) {
  const scale = isAttention(state.place) && data.about && data.about.scale;
  if (!scale) return null;
  const { config } = data;
  const trained = config.scaling ? config.d_k ** -0.5 : 1;
  const factor = scale[state.head];
  return Math.abs(factor - trained) > 1e-6 * trained ? factor : null;
}

// What the switches replace in the model's arithmetic. factor: of the scores, missing if it is the model's; rule: 1
// uniform weights, 2 all on the best key; zero: the head is knocked out; replaced: its output comes from elsewhere;
// skipped: the sub-layer is knocked out; silenced: neurons.
export function switchEffects(state, data) {
  const about = data.about || {};
  const factor = factorOf(state, data);
  const ofHead = (list) => (list && list[state.head]) || 0;
  return {
    ...(factor === null ? {} : { factor: Number(factor.toPrecision(4)) }),
    ...{ rule: ofHead(about.rule), zero: Boolean(ofHead(about.zero)) },
    replaced: Boolean(ofHead(about.replaced)),
    ...{ skipped: Boolean(about.skipped), silenced: about.silenced || [] },
  };
}

// Where the text of a step has another name than the step.
const BASES = {
  x: ({ place, encoder, decoder }) => {
    if (isFeedForward(place)) return "x_ff";
    return { "encoder.self": !encoder && "x_first", "decoder.self": !decoder && "x_fed" }[place] || "x";
  },
  split: (state, { config }) => (config.d_k === config.d_head ? "split" : "split_own"),
  scale: (state, data) => {
    const factor = factorOf(state, data);
    if (factor === null) return data.config.scaling ? "scale" : "scale_off";
    return factor === 1 ? "scale_removed" : "scale_switched";
  },
  mask: (state, data, matrix) => {
    const { place } = state;
    if (place === "decoder.self") return "mask" + (maskSuffix(state, data) || "_decoder");
    const some = matrix?.name === "scores" && hiddenCells(matrix) > 0;
    return (place === "decoder.cross" ? "mask_cross" : "mask_encoder") + (some ? "_some" : "");
  },
  output: (state, data) => (isLost(data) ? "update_skipped" : "output"),
  outer: (state, data) => (isLost(data) ? "update_skipped" : "outer"),
  activation: (state, { config }) => "activation_" + config.activation,
  row: ({ place }, { config }) => "row_" + place + (place === "target" && config.target_vocab_size ? "_own" : ""),
  times: (state, { config }) => (config.embedding_scale ? "times" : "times_off"),
  logits: (state, { config }) => "logits" + (config.tied_output ? "" : "_own") + (config.output_bias ? "_bias" : ""),
  plus: (state, { config }) => "plus_" + config.positions,
  choose: ({ t }, data) => {
    const rank = data.outputs.chosen_rank[t] && !isUnmasked(data);
    return data.header.own ? (rank ? "choose_own_rank" : "choose_own") : "choose_given";
  },
  back: ({ t }, { steps, header }) => (t + 1 < steps ? (header.own ? "back" : "back_given") : "back_end"),
};

// Whether a switch removes a sub-layer that nothing goes around.
const isLost = ({ config, about }) => config.residual === false && about?.skipped;

// The text of a step: its name with those endings, of the ones that hold for the state, for which there is such a text.
function textOf(state, data, matrix) {
  const { config } = data;
  const { zero, replaced, skipped, rule } = switchEffects(state, data);
  const endings = [
    ...[zero && "zero", replaced && "replaced", skipped && "skipped", ["", "uniform", "argmax"][rule]],
    ...[state.place === "decoder.cross" && "cross", config.norm],
    ...[config.residual === false && "alone", isUnmasked(data) && "bare"],
  ];
  const longer = (text, ending) => (`tell_${text}_${ending}` in EXPLANATIONS ? `${text}_${ending}` : text);
  return endings.reduce(longer, BASES[state.step]?.(state, data, matrix) ?? state.step);
}

// The titles of texts that have none of their own, nor that of their step.
const TITLES = {
  scale_removed: "scale_off",
  softmax_uniform: "softmax_switched",
  softmax_argmax: "softmax_switched",
  plus_none_bare: "plus_none",
};

// Which tables of section 3.4 are shared: all three, those of both inputs, the target's and the output's, or none.
function tableSuffix({ target_vocab_size: apart, tied_output: tied }) {
  if (apart) return tied ? "_target" : "_apart";
  return tied ? "" : "_inputs";
}

// Keys of the title, the explanation and the folded text.
export function textKeys(state, data, matrix) {
  const { place, step, zoom } = state;
  const { config } = data;
  const named = placeName(place);
  if (!isNear(state)) {
    const norm = config.norm === "post" ? "" : "_" + config.norm;
    const more = zoom === "model" ? "model" + aloneSuffix(data) : "layer" + norm + aloneSuffix(data);
    const off = maskSuffix(state, data);
    const network = zoom === "model" && isFeedForward(place); // the same in both stacks
    const adds = network || (zoom === "model" && place === "encoder.self") ? aloneSuffix(data) : "";
    const ending = place === "output" && !config.tied_output ? "_own" : adds;
    const text = `tell_${zoom}_${network ? "ff" : named}${off}${ending}`;
    return { title: "place_" + named + off, text, more: "tell_more_" + more };
  }
  const text = textOf(state, data, matrix);
  const title = `tell_title_${text}` in EXPLANATIONS ? text : (TITLES[text] ?? step);
  const bare = isUnmasked(data) ? "_bare" : "";
  const fed = step === "back" ? "back" + (bare || (isCausalOff(state, data, true) ? "_off" : "")) : step;
  const folded = {
    x: "x" + aloneSuffix(data),
    plus: text.replace("_bare", "") + (config.embedding_norm ? "_norm" : ""),
    times: text,
    hidden: "hidden" + bare,
    mask: place === "decoder.self" ? "mask" + (bare || "_decoder") : "mask",
    row: "row" + tableSuffix(config),
    logits: "logits" + tableSuffix(config),
  };
  const more = folded[step] || fed;
  return { title: "tell_title_" + title, text: "tell_" + text, more: "tell_more_" + more };
}

// All values that the texts may use. say: the texts in the reader's language.
export function textValues(state, data, say) {
  const { config, outputs, steps } = data;
  const { place, t } = state;
  const [source, target] = [data.labels("source").length, steps];
  const n = stackOf(place) === "encoder" ? source : target;
  const m = place === "decoder.self" ? target : source;
  const stack = stackOf(place);
  const factor = factorOf(state, data);
  const count = outputs.labels[t].length;
  const shownShare = outputs.probability.subarray(t * count, (t + 1) * count).reduce((sum, p) => sum + p, 0);
  return {
    ...config,
    ...{ n, m, t: t + 1, next: t + 2, steps, layer: state[stack] + 1, layers: config[stack + "_layers"] },
    d_ff: formatCount(config.d_ff),
    heads_named: headsOf(config, say),
    vocab: formatCount(place === "source" ? config.vocab_size : config.output_size),
    vocab_source: formatCount(config.vocab_size),
    start: data.labels("target_in")[0],
    ...{ root: shortValue(Math.sqrt(config.d_k)), root_is: rootSign(config.d_k) },
    ...{ root_model: shortValue(Math.sqrt(config.d_model)), root_model_is: rootSign(config.d_model) },
    eps: String(config.layer_norm_eps).replace("-", "−"),
    products: formatCount(n * m * config.d_k),
    ratio: shortValue(config.d_ff / config.d_model),
    trained: shortValue(config.scaling ? config.d_k ** -0.5 : 1),
    factor: shortValue(factor ?? 1),
    fed: data.labels("target_in")[t],
    token: data.labels("target_out")[t],
    p: formatNumber(outputs.chosen_probability[t], "weights"),
    rank: formatCount(outputs.chosen_rank[t] + 1),
    share: `${(100 * shownShare).toFixed(1)}%`,
  };
}

export const headsOf = ({ heads }, say) => say(heads === 1 ? "heads_one" : "heads_many", { heads });
const rootSign = (value) => (Number.isInteger(Math.sqrt(value)) ? "=" : "≈");
const shortValue = (value) => String(Number(value.toPrecision(4)));

export const hiddenCells = ({ data }) => data.reduce((count, value) => count + Number(value === -Infinity), 0);

// One line about the effect of this step on these numbers: {key, values} or null.
export function factOf(state, data, matrix) {
  const { step, place, t } = state;
  if (!isNear(state)) return null;
  const { outputs, config } = data;
  if (step === "mask" && matrix && matrix.masked) {
    const values = { hidden: formatCount(hiddenCells(matrix)), total: formatCount(matrix.data.length) };
    return { key: "tell_fact_hidden", values };
  }
  if (step === "activation" && config.activation === "relu" && matrix) {
    const alive = matrix.data.reduce((count, value) => count + (value > 0), 0);
    const share = `${((100 * alive) / matrix.data.length).toFixed(1)}%`;
    const total = formatCount(matrix.data.length);
    return { key: "tell_fact_alive", values: { alive: formatCount(alive), total, share } };
  }
  if (step === "softmax" && matrix && isOneHead(matrix)) {
    const chosen = state.zoom !== "number" && stackOf(place) === "decoder" ? t : state.row;
    const row = Math.min(matrix.rows - 1, Math.max(0, chosen));
    let best = 0;
    for (let col = 1; col < matrix.cols; col++) if (matrix.at(row, col) > matrix.at(row, best)) best = col;
    const { rows, columns } = labelsOf(state, data, matrix);
    const value = formatNumber(matrix.at(row, best), "weights");
    const key = stackOf(place) === "decoder" ? "tell_fact_row_fed" : "tell_fact_row";
    return { key, values: { row: rows[row], column: columns[best], value } };
  }
  if (place === "output" && (step === "probabilities" || step === "logits")) {
    const count = outputs.labels[t].length;
    const [token] = outputs.labels[t];
    const logit = formatNumber(outputs.logit[t * count], "");
    if (step === "logits") return { key: "tell_fact_logit", values: { token, value: logit } };
    return { key: "tell_fact_top", values: { token, value: formatNumber(outputs.probability[t * count], "weights") } };
  }
  return null;
}

// The tokens of the rows and, if they are keys, of the columns of a matrix of a place.
export function labelsOf(state, data, matrix) {
  const { place } = state;
  const tokens = data.labels(stackOf(place) === "encoder" ? "source" : "target_in");
  const keys = data.labels(place === "decoder.self" ? "target_in" : "source");
  const [rowAxis, colAxis] = matrix.axes.slice(-2);
  return { rows: rowAxis === "key" ? keys : tokens, columns: colAxis === "key" ? keys : null };
}

// [the name of the box whose parameters a state shows, those of its tensors that are used (null: all), the key of another
// text].
function boxOf(state, { config, header }) {
  const { place, step } = state;
  const near = isNear(state);
  const none = ["", [], "tell_parameters_none"];
  if (isEmbedding(place)) {
    if (near && step === "times") return none;
    if (!near || step === "row") return [place + ".embedding", null];
    const fixed = { sinusoidal: "tell_parameters_fixed", none: "tell_parameters_none" };
    return [place + ".positions", null, fixed[config.positions]];
  }
  if (place === "output") {
    if (!near || step === "logits") return ["output", null];
    return step === "hidden" && config.norm === "pre" ? ["decoder.norm", null] : none;
  }
  const at = traceName(state);
  if (near && step === "norm") return [at + ".norm", null];
  const tensorsOf = (name) => header.boxes[name]?.tensors || [];
  // Weights and their biases.
  const symbols = near ? weightsOf(step).flatMap((name) => [SYMBOLS[name], SYMBOLS["b" + name.slice(1)]]) : [];
  if (symbols.length) return [at, tensorsOf(at).filter(({ symbol }) => symbols.includes(symbol))];
  return [at, [...tensorsOf(at), ...tensorsOf(at + ".norm")], near ? "tell_parameters_not" : null];
}

// The parameters of a state: how many, in which tensors, and the key of the text about them.
export function parametersOf(state, data) {
  const [name, used, key] = boxOf(state, data);
  const box = data.header.boxes[name] || { tensors: [] };
  const listed = used || box.tensors;
  const count = (!used && box.count) || countOf(listed);
  const shared = box.shared_with || [];
  const own = countOf(listed.filter((tensor) => tensor.name === "output_bias"));
  const sort = shared.length ? (own ? "tell_parameters_shared_but" : "tell_parameters_shared") : "tell_parameters";
  const about = { name, step: used && state.step, key: key || sort, shared, own };
  return { ...about, count, share: count / data.config.parameters, tensors: listed.map(paperTensor) };
}

const countOf = (tensors) => tensors.reduce((sum, { count }) => sum + count, 0);

// A matrix as the paper multiplies by it, x W: torch stores the transpose. The output's own W has one row per word,
// like E.
function paperTensor(tensor) {
  return /^W./.test(tensor.symbol) ? { ...tensor, shape: [...tensor.shape].reverse() } : tensor;
}

// What the switches changed in the matrix shown, {most, cells} as from changeOf; null if it is not known.
export function switchChange(state, data, matrix) {
  const at = traceName(state);
  const { changed } = data.header;
  if (!isNear(state)) {
    const names = { source: "encoder.0.self.enters", target: "decoder.0.self.enters", output: "decoder.output" };
    const name = names[state.place] || (isAttention(state.place) ? at : at + ".enters");
    const most = (changed && changed[name]) || 0;
    return { most: most > ROUNDING ? most : 0, cells: 0 };
  }
  if (!matrix || !data.about) return null;
  if (matrix.name === "probabilities") {
    const plain = data.plain("place.logits");
    return changeOf(matrix, plain && probabilitiesOf(plain));
  }
  const plain = (options) => data.plain("place." + matrix.name, options);
  const headChange = changeOf(matrix, plain(isOneHead(matrix) ? { head: state.head } : {}));
  const wholeMatrix = wholeRow(state, data, matrix);
  if (wholeMatrix === matrix) return headChange;
  const all = changeOf(wholeMatrix, plain({}));
  return { most: all.most, cells: headChange.cells || all.cells }; // masks are the same for every head but for a switch
}
