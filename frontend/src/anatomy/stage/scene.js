import { isAttention, isFeedForward, isEmbedding } from "../walk.js";
import { modelFlow, layerFlow, height } from "../flow/flow.js";
import { attentionBoard, attentionBoardHeight } from "../attention/board.js";
import { feedForwardBoard, feedForwardBoardHeight } from "../feedforward/board.js";
import { embeddingBoard, embeddingBoardHeight } from "../ends/embedding.js";
import { outputBoard } from "../ends/output.js";
import { outputBoardHeight } from "../ends/room.js";
import { formatCount, formatNumber } from "../format.js";
import { changeOf, probabilitiesOf } from "../panel/facts.js";
import { numberBoard, numberBoardHeight } from "../number/number.js";
import { matrixOfStep } from "../number/operands.js";

// The layout that draws a state, the height it needs on a narrow screen, and the matrix that a step computes.

/** @returns {any[]} */
function layoutOf({ zoom, place }) {
  if (zoom === "model") return [modelFlow, height];
  if (zoom === "layer") return [layerFlow, height];
  if (zoom === "number") return [numberBoard, numberBoardHeight];
  if (isAttention(place)) return [attentionBoard, attentionBoardHeight];
  if (isFeedForward(place)) return [feedForwardBoard, feedForwardBoardHeight];
  return isEmbedding(place) ? [embeddingBoard, embeddingBoardHeight] : [outputBoard, outputBoardHeight];
}

export function anatomyScene(ctx) {
  const items = layoutOf(ctx.state)[0](ctx);
  return [...items, ...marksOf(ctx, items)];
}

// With switches: a bar over every matrix that has changed; it also stores the numbers of before.
function marksOf({ data, unit, t }, items) {
  const { changed, inside, switches } = data.header;
  if (!Object.keys(switches).length) return [];
  const far = (name, { head }) => {
    const heads = inside[name];
    if (!heads) return changed[name];
    return head === undefined ? Math.max(...heads) : heads[head];
  };
  const marks = [];
  for (const item of items) {
    if (item.kind !== "matrix" || !item.matrix.origin) continue;
    const { name, options } = item.matrix.origin;
    const near = name.startsWith("place.");
    if (near) item.plain = data.plain(name, options);
    const { most, cells } = near ? changeOf(item.matrix, item.plain) : { most: far(name, options), cells: 0 };
    if (!(most > 1e-6 || cells)) continue; // rounding
    const high = Math.max(3, unit * 0.24);
    const tip = most > 1e-6 ? [t("say_changed", { value: formatNumber(most, item.matrix.name) })] : [];
    if (cells) tip.push(t("tell_changed_cells", { n: formatCount(cells) }));
    const rect = { x: item.x, y: item.y - high - 1, w: item.w, h: high };
    const look = { fill: "changed", radius: 2, z: 2, parent: item.key, tip };
    marks.push({ key: `changed:${item.key}`, kind: "box", ...rect, ...look });
  }
  return marks;
}

export function anatomySceneHeight(ctx) {
  return layoutOf(ctx.state)[1](ctx);
}

// The matrix of a state: the result of its step; in the model and a layer, what its place shows.
export function mainMatrix({ state, data }) {
  const { place, zoom } = state;
  if (zoom === "model" || zoom === "layer") {
    const [stack, part] = place.split(".");
    if (isAttention(place)) return data.matrix(`${stack}.${state[stack]}.${part}.weights`, { head: state.head });
    if (isFeedForward(place)) return data.matrix(`${stack}.${state[stack]}.ff.activation`);
    if (place === "output") return data.matrix("decoder.output");
    return data.matrix(place === "source" ? "encoder.0.self.enters" : "decoder.0.self.enters");
  }
  const made = matrixOfStep(state, data.config);
  const name = made.name === "probabilities" ? "logits" : made.name;
  const cut = (state.step === "split" || state.step === "project") && zoom !== "number";
  const heads = cut ? zoom === "head" : made.own;
  const matrix = data.matrix("place." + name, heads ? { head: state.head } : {});
  if (!matrix) return null;
  if (made.name === "probabilities") return probabilitiesOf(matrix);
  if (state.step !== "project" || heads || matrix.shape.length < 4) return matrix;
  // Before the split there is no tensor of heads: [batch, head, query, d_k] is [batch, query, h · d_k].
  const [batch, , rows] = matrix.shape;
  const [first, , row, width] = matrix.axes;
  const about = { shape: [batch, rows, matrix.cols], axes: [first, row, "head·" + width] };
  return Object.assign(Object.create(matrix), about);
}
