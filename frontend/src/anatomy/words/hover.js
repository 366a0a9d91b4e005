import { TEXTS } from "../../core/texts.js";
import { LAB_TEXTS } from "../../lab/texts.js";
import { ANATOMY_TEXTS } from "./texts.js";
import { ATTENTION_TEXTS } from "../attention/parts.js";
import { ENDS_TEXTS } from "../ends/texts.js";
import { NUMBER_TEXTS } from "../number/texts.js";
import { formatNumber } from "../format.js";

// What the anatomy says of what is under the pointer, and all of its texts together.

export const FLOW_TEXTS = {
  an_region: "Anatomy of the model",
  an_stage: "The drawing; the arrow keys go from step to step",
  an_broken: "This picture cannot be drawn: {reason}. Reload the page; if that does not help, choose another sentence.",
  an_encoder: "Encoder",
  an_decoder: "Decoder",
  an_switches: "Switch parts of the model",
  an_switched: "({n} switched)",
  flow_source: "Source",
  flow_target: "Fed in",
  flow_self: "Self-attention",
  flow_masked: "Masked self-attention",
  flow_cross: "Cross-attention",
  flow_memory: "output",
  flow_out: "output",
  flow_leaves: "leaves",
  flow_ff: "Feed-forward",
  flow_self_short: "Self",
  flow_masked_short: "Self, masked",
  flow_cross_short: "Cross",
  flow_ff_short: "Neurons",
  flow_opened: "Self-attention, mask off",
  flow_opened_short: "Self, open",
  flow_self_encoder: "Encoder self-attention",
  flow_self_decoder: "Decoder self-attention",
  flow_x: "x, what enters {name}",
  flow_x_first: "x, embedding plus position",
  flow_queries: "Q, queries",
  flow_keys: "K, keys",
  flow_values: "V, values",
  flow_neurons: "neurons, after the non-linearity",
  flow_weights: "weights of head {head}",
  flow_memory_title: "the encoder's output",
  flow_add: "+",
  flow_add_norm: "+ norm",
  flow_norm: "norm",
  flow_open: "{stack}: open layer {layer}",
  flow_head_name: "head {head}",
  flow_out_head: "off",
  flow_output: "Next word",
  flow_count: "{n} parameters",
  flow_shared: "shares the embeddings' table",
  flow_own: "{n} parameters of its own",
  flow_table: "one table: {n}",
  flow_layer: "{stack}, layer {layer} of {layers}",
  flow_layer_count: "{stack}, layer {layer} of {layers} · {n} parameters",
  flow_total:
    "{total} parameters = {rest} + {encoder_layers} × {encoder} (encoder) + {decoder_layers} × {decoder} (decoder)",
  flow_head: "head {head} of {heads}",
  flow_go: "{name}: look inside",
  flow_go_embedding: "How a token becomes a vector",
  flow_go_parts: "{name}: how queries, keys and values are made",
  flow_go_neurons: "Which neurons are active",
  flow_go_head: "{name}, head {head}: look inside",
  flow_go_output: "How the next word is chosen",
  say_cell: "{row}, {column}",
  say_link: "query {row}, key {column}",
  say_column: "{name} {n} of {total}",
  say_name: "{name}, row {row} of {rows}, column {column} of {columns}",
  say_norm: "length {value}",
  say_masked: "masked: −∞ here, so its weight is 0",
  say_changed: "changed by the switches, by {value} at most",
  say_before: "without the switches {value}",
  say_approximate: "≈ {value}",
};

export const ALL_ANATOMY_TEXTS = {
  ...TEXTS,
  ...LAB_TEXTS,
  ...ANATOMY_TEXTS,
  ...ATTENTION_TEXTS,
  ...ENDS_TEXTS,
  ...NUMBER_TEXTS,
  ...FLOW_TEXTS,
  lab_zero_click: "Knock this head out",
};

const ATTENTION_CELLS = ["dot", "scaled", "scores", "weights"];
const TOKEN_AXES = ["query", "key", "token", "step", "source", "target"];

// The tokens along an axis of the place that is shown; null where it counts something else.
function axisLabels({ data, state }, axis) {
  if (!axis) return null;
  const side = axis.split(":")[0];
  if (side === "source") return data.labels("source");
  if (side === "target") return data.labels("target_in");
  if (!TOKEN_AXES.includes(axis)) return null;
  const { place } = state;
  if (axis === "key") return data.labels(place === "decoder.self" ? "target_in" : "source");
  if (place === "source" || place.startsWith("encoder")) return data.labels("source");
  return data.labels("target_in");
}

// The lines of the tooltip of a cell. view: {data, state, t}
export function hoverLines(view, item, row, col) {
  const { t } = view;
  const { matrix } = item;
  const rows = item.rowLabels || axisLabels(view, item.rowAxis);
  const columns = item.colLabels || axisLabels(view, item.colAxis);
  const name = (labels, axis, index, total) =>
    labels ? labels[index] : axis ? t("say_column", { name: axis.split(":")[0], n: index + 1, total }) : null;
  const [first, second] = [name(rows, item.rowAxis, row, matrix.rows), name(columns, item.colAxis, col, matrix.cols)];
  const cell = ATTENTION_CELLS.includes(matrix.name) ? "say_link" : "say_cell";
  const where = first && second ? t(cell, { row: first, column: second }) : first || second || matrix.name;
  const lines = item.title ? [item.title, where] : [where];
  const value = matrix.at(row, col);
  const said = formatNumber(value, matrix.name);
  // A strip of 8 bits shows a vector, not its numbers: its length is said instead.
  if (matrix.exact || (value === 0 && matrix.name === "weights")) lines.push({ text: said, class: "hs-tip-number" });
  else if (matrix.norms) lines.push(t("say_norm", { value: formatNumber(matrix.norms[row], "") }));
  else if (matrix.name === "weights")
    lines.push({ text: t("say_approximate", { value: value.toFixed(2) }), class: "hs-tip-number" });
  if (value === -Infinity) lines.push(t("say_masked"));
  const before = item.plain && item.plain.at(row, col);
  if (item.plain && matrix.exact)
    lines.push({ text: t("say_before", { value: formatNumber(before, matrix.name) }), class: "hs-tip-dim" });
  return lines;
}
