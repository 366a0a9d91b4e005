import { stepsOf } from "../walk.js";
import { drawProduct, productSizes } from "../sublayer/product.js";
import { OF_MEMORY, fitsAside, normBoard, sumBoard, tallestStep } from "../sublayer/sums.js";
import { splitBoard, tileBoard, concatBoard } from "./heads.js";
import { headBoard } from "./head.js";
import { AttentionSheet } from "./sheet.js";

// The boards of an attention sub-layer (sections 3.1 and 3.2): where every matrix of a step stands.

const BOARDS = {
  x: (sheet) => (sheet.pre ? normBoard(sheet) : projectBoard(sheet)),
  project: projectBoard,
  split: splitBoard,
  concat: concatBoard,
  output: outputBoard,
  add: sumBoard,
  norm: (sheet) => (sheet.pre || !sheet.residual ? normBoard(sheet) : sumBoard(sheet)),
};

export function attentionBoard(ctx) {
  const sheet = new AttentionSheet(ctx);
  const sum = sheet.residual ? "x + MultiHead" : "MultiHead";
  sheet.names = { update: "MultiHead", sum, leaves: [`LayerNorm(${sum})`, "LayerNorm"] };
  sheet.origin = [sheet.key("W_o"), sheet.key("concat")];
  const board = BOARDS[ctx.state.step] || (sheet.near ? headBoard : tileBoard);
  board(sheet);
  return sheet.items;
}

export const attentionBoardHeight = (ctx) =>
  tallestStep(ctx, stepsOf(ctx.state.place, ctx.data.config), attentionBoard);

// x W^Q, x W^K, x W^V; in cross-attention the latter two of the encoder's output.
function projectBoard(sheet) {
  const { u, cross, near, head, slim, d, dk, dh, heads, area } = sheet;
  const product = (letter, role, width, ramp) => {
    const weight = "W_" + letter.toLowerCase();
    const axis = letter === "V" ? "d_head" : "d_k";
    const about = { role, ramp, weight, rows: d, group: letter, pick: { matrix: role } };
    const all = { weightName: `W^${letter}`, name: letter, cols: heads * width, axis: "head·" + axis, slices: true };
    if (!near) return { ...about, ...all };
    const names = { weightName: `W_{${head + 1}}^${letter}`, name: `${letter}_{${head + 1}}` };
    return { ...about, ...names, head, from: [head * width, width], colFrom: head * width, cols: width, axis };
  };
  const queries = product("Q", "queries", dk, sheet.q.side);
  const memoryProducts = [product("K", "keys", dk, sheet.k.side), product("V", "values", dh, sheet.k.side)];
  const x = { matrix: "queries", ramp: sheet.q.side, axis: "d_model" };
  const left = { ...x, ...(sheet.pre ? { role: "normed", name: "LN(x)" } : { role: "x", name: "x" }) };
  const memory = { role: "memory", matrix: "memory", name: "memory", ramp: sheet.k.side, axis: OF_MEMORY };
  const blocks = cross
    ? [
        { side: sheet.q, left, products: [queries] },
        { side: sheet.k, left: memory, products: memoryProducts },
      ]
    : [{ side: sheet.q, left, products: [queries, ...memoryProducts] }];
  // Side by side if there is space, otherwise below each other.
  const aside = cross && fitsAside(sheet);
  const tops = near ? 0.62 : 1; // one head's part of the weights is narrower than all of them
  const gap = slim ? 0.5 * u : 1.4 * u;
  const label = sheet.tw + sheet.pad;
  const between = 2.2 * u;
  for (const block of blocks) {
    const mates = aside ? blocks : [block];
    const columns = mates.reduce((sum, mate) => sum + 1 + mate.products.length * tops, 0);
    const used = mates.reduce((sum, mate) => sum + label + mate.products.length * gap, 0) + (aside ? between : 0);
    Object.assign(block, { a: (area.w - used) / columns, tops, gap });
  }
  const coming = sheet.state.step === "x";
  const apart = 1.1 * u;
  const stacked = cross && !aside;
  const sizes = stacked
    ? blocks.map((block) => productSizes(sheet, [block], (area.h - apart) / 2))
    : blocks.map(() => productSizes(sheet, blocks, area.h));
  let at = area.x;
  let y = sheet.top(stacked ? sizes[0].height + sizes[1].height + apart : sizes[0].height);
  blocks.forEach((block, i) => {
    drawProduct(sheet, block, { x: at, y, sizes: sizes[i], coming });
    if (stacked) y += sizes[i].height + apart;
    else at += label + block.a + block.products.length * (block.a * tops + gap) + between;
  });
}

function outputBoard(sheet) {
  const { u, d, dh, heads, near, head, area } = sheet;
  const gap = sheet.slim ? 0.7 * u : 1.8 * u;
  const product = {
    ...{ role: "update", name: "MultiHead", ramp: sheet.colour, weight: "W_o", weightName: "W^O", pick: true },
    ...{ rows: heads * dh, cols: d, axis: "d_model", off: sheet.data.about?.skipped && sheet.t("attention_off") },
  };
  const left = { role: "concat", name: "Concat", ramp: sheet.colour, axis: "head·d_head" };
  const a = Math.min((sheet.w0 - gap) / 2, Math.max(24 * u, area.h * 0.66));
  const block = { side: sheet.q, left, products: [product], a, tops: 1, gap };
  const sizes = productSizes(sheet, [block], area.h);
  const spare = Math.max(0, sheet.w0 - 2 * a - gap);
  const at = drawProduct(sheet, block, { x: area.x + spare / 2, y: sheet.top(sizes.height), sizes });
  if (!near) return;
  // A head's columns of the concatenation meet only its rows of W^O.
  const part = { w: a / heads, h: at.top / heads };
  sheet.frame("concat", { x: at.xs + head * part.w, y: at.yRows - 1, w: part.w, h: at.h + 2 });
  sheet.frame("W_o", { x: at.xs + a + gap - 1, y: at.yTop + head * part.h, w: at.wide + 2, h: part.h });
}
