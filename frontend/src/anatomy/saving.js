import { printable } from "../core/dom.js";
import { csvText, fileStem, savePicture } from "../core/save.js";
import { isAttention, isFeedForward, stackOf } from "./walk.js";
import { isNear, labelsOf } from "./panel/facts.js";
import { sceneSvg } from "./stage/scene_svg.js";

// Saved files: the drawing as SVG or PNG, and the numbers of the step as CSV.

// "headscope-en-de-encoder.self-layer1-head3-softmax": what is drawn. With switches the name says so.
export function stemOf({ state, data }) {
  const { zoom, place, step, head, t } = state;
  const inLayer = isAttention(place) || isFeedForward(place);
  const decoder = stackOf(place) === "decoder";
  const one = zoom !== "sub"; // there, all heads are drawn
  return fileStem([
    "headscope",
    data.header.checkpoint,
    place,
    ...(inLayer ? [`layer${state[stackOf(place)] + 1}`] : []),
    ...(one && isAttention(place) ? [`head${head + 1}`] : []),
    isNear(state) ? step : zoom,
    ...(decoder ? [`token${t + 1}`] : []),
    ...(Object.keys(data.header.switches).length ? ["switched"] : []),
  ]);
}

// The lines above the drawing: what it shows, of which sentence, and what was done to the numbers.
export function captionOf({ state, data, t }, spoken) {
  const words = data.phrases;
  const { source, target } = data.header.sentences;
  return [
    spoken,
    t("save_sentence", { source: printable(source), target: printable(target) }),
    ...(words.length ? [t("save_switched", { switches: words.join("; ") })] : []),
    ...(isNear(state) ? [] : [t("save_rounded")]),
  ];
}

// A row a line; the exact numbers with 9 significant digits, which is all that float32 holds, rounded ones with 3.
export function matrixCsv({ state, data, t }, matrix) {
  const { rows, columns } = labelsOf(state, data, matrix);
  const number = (value) => Number(value.toPrecision(matrix.exact ? 9 : 3));
  const first = matrix.axes.at(-1) === "vocabulary" ? 0 : 1; // ids of tokens count from 0
  const heads = columns || Array.from({ length: matrix.cols }, (_, i) => String(i + first));
  const name = t(matrix.exact ? "save_csv_corner" : "save_csv_corner_rounded", { name: matrix.name });
  const lines = Array.from({ length: matrix.rows }, (_, row) => {
    const numbers = Array.from({ length: matrix.cols }, (_, col) => number(matrix.at(row, col)));
    return [rows[row] ?? String(row + 1), ...numbers];
  });
  return csvText([[name, ...heads], ...lines]);
}

// view: the AnatomyView
export function saveDrawing(view, format) {
  const { state, data, t, theme, stage } = view;
  const ctx = { state, data, t };
  const stem = stemOf(ctx);
  if (format === "csv" && !view.matrix) return undefined;
  const items = () => stage.moving.filter((move) => !move.leaves).map((move) => move.item);
  return savePicture(stem, format, {
    svg: () => sceneSvg(items(), stage.size, theme, captionOf(ctx, view.spoken.textContent)),
    csv: () => matrixCsv(ctx, view.matrix),
  });
}
