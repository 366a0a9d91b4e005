import { EXPLORER_TEXTS } from "../../explorer/texts.js";
import { LAB_TEXTS } from "../../lab/texts.js";
import { ANATOMY_TEXTS } from "./texts.js";
import { ATTENTION_TEXTS } from "../attention/texts.js";
import { ENDS_TEXTS } from "../ends/texts.js";
import { FLOW_TEXTS } from "../flow/texts.js";
import { NUMBER_TEXTS } from "../number/texts.js";
import { formatNumber } from "../format.js";

// The tooltips of the anatomy, and all of its texts together.

export const ALL_ANATOMY_TEXTS = {
  ...{ ...EXPLORER_TEXTS, ...LAB_TEXTS, ...ANATOMY_TEXTS, ...ATTENTION_TEXTS },
  ...{ ...ENDS_TEXTS, ...NUMBER_TEXTS, ...FLOW_TEXTS },
};

const ATTENTION_CELLS = ["dot", "scaled", "scores", "weights"];
const TOKEN_AXES = ["query", "key", "token", "step", "source", "target"];

// The tokens along an axis of the place shown; null if the axis counts something else.
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
  const cellName = first && second ? t(cell, { row: first, column: second }) : first || second || matrix.name;
  const lines = item.title ? [item.title, cellName] : [cellName];
  const value = matrix.at(row, col);
  const text = formatNumber(value, matrix.name);
  // A strip of 8 bits shows a vector, not its numbers: its length is given instead.
  if (matrix.exact || (value === 0 && matrix.name === "weights")) lines.push({ text: text, class: "hs-tip-number" });
  else if (matrix.norms) lines.push(t("say_norm", { value: formatNumber(matrix.norms[row], "") }));
  else if (matrix.name === "weights")
    lines.push({ text: t("say_approximate", { value: value.toFixed(2) }), class: "hs-tip-number" });
  if (value === -Infinity) lines.push(t("say_masked"));
  const before = item.plain && item.plain.at(row, col);
  if (item.plain && matrix.exact)
    lines.push({ text: t("say_before", { value: formatNumber(before, matrix.name) }), class: "hs-tip-dim" });
  return lines;
}
