import { formatNumber } from "../format.js";
import { stepSuffix, stepsOf, stopsOf, stopIndex, isAttention, stackOf } from "../walk.js";
import { rangeOf } from "../matrix.js";
import { hiddenCells, labelsOf, maskSuffix, isPredicted, isNear, isOneHead } from "../panel/facts.js";

// The description that replaces the picture for screen readers.

export function spokenState(t, state, data, matrix, place, waiting) {
  const { config, outputs, steps } = data;
  const layer = state[stackOf(state.place)] + 1;
  const at = t("place_at_" + place + maskSuffix(state, data), { layer });
  const [fed, token] = [data.labels("target_in")[state.t], data.labels("target_out")[state.t]];
  const p = formatNumber(outputs.chosen_probability[state.t], "weights");
  if (!isNear(state)) {
    const stops = stopsOf(config, state.zoom);
    const n = stopIndex(state, stops) + 1;
    const values = { n, count: stops.length, place: at, source: data.labels("source").length, t: state.t + 1, steps };
    const key = isPredicted(data, state.t) ? "said_place" : "said_place_next";
    return t(key, { ...values, fed, predicted: token, p });
  }
  const list = stepsOf(state.place, config);
  const named = "step_" + state.step + stepSuffix(state.step, config);
  const step = t("said_" + named) === "said_" + named ? t(named) : t("said_" + named);
  const values = { n: list.indexOf(state.step) + 1, count: list.length, step, place: at, t: state.t + 1 };
  if (state.place === "output" && (state.step === "choose" || state.step === "back")) {
    const rank = outputs.chosen_rank[state.t] + 1;
    return t("said_word", { ...values, fed, token, p, rank, vocab: config.output_size });
  }
  if (!matrix) return t(waiting ? "said_waiting" : "said_quiet", values);
  return spokenMatrix(t, state, data, matrix, values);
}

function spokenMatrix(t, state, data, matrix, values) {
  const { config, outputs } = data;
  const range = rangeOf(matrix.data);
  const named = "matrix_" + matrix.name;
  const what = (t(named) === named ? matrix.name : t(named)).replaceAll("_", " ");
  const [low, high] = range.map(spokenNumber);
  const more = { ...values, what, low, high, rows: matrix.rows, columns: matrix.cols };
  if (matrix.rows === 1 && state.place === "output") {
    const count = outputs.labels[state.t].length;
    const [token, p] = [outputs.labels[state.t][0], formatNumber(outputs.probability[state.t * count], "weights")];
    return t("said_vector", { ...more, token, p });
  }
  const { rows, columns } = labelsOf(state, data, matrix);
  const largest = Math.max(0, matrix.data.indexOf(range[1]));
  const [atRow, atCol] = [Math.floor(largest / matrix.cols), largest % matrix.cols];
  const hidden = hiddenCells(matrix);
  Object.assign(more, { row: rows[atRow] ?? atRow + 1, number: atCol + 1, column: columns?.[atCol] });
  Object.assign(more, { head: state.head + 1, heads: config.heads, hidden });
  const single = isAttention(state.place) && isOneHead(matrix);
  const ofHead = columns ? (hidden ? "said_head_hidden" : "said_head") : "said_head_rows";
  const text = t(single ? ofHead : "said_rows", more);
  const { row, col } = state;
  if (state.zoom !== "number" || col < 0 || row >= matrix.rows || col >= matrix.cols) return text;
  const value = formatNumber(matrix.at(row, col), matrix.name);
  return t("said_number", { text, row: rows[row] ?? row + 1, column: columns ? columns[col] : col + 1, value });
}

function spokenNumber(value) {
  const size = Math.abs(value);
  return String(Number(size >= 100 ? value.toFixed(0) : value.toPrecision(2))).replace("-", "−");
}
