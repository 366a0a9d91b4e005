// A product C = A B of a sub-layer: A at the left, B on top and C in the corner, so that a row of A and a column of B
// meet in their cell of C; between B and C the row of biases.

// Heights of the blocks that stand side by side, in an area of that height.
export function productSizes(sheet, blocks, height) {
  const { u, line } = sheet;
  const rows = Math.max(...blocks.map((block) => block.side.n));
  const bias = 0.75 * u;
  const fixed = 2 * line + bias + 0.5 * u;
  const freeHeight = Math.max(4 * u, height - fixed);
  const widest = Math.max(...blocks.map((block) => block.a));
  const most = sheet.slim ? Math.max(widest, (sheet.natural ? 9 : 15) * u) : Math.min(widest * 1.15, freeHeight);
  const high = Math.min(rows * sheet.cap, sheet.most, Math.max(freeHeight * 0.52, freeHeight - most));
  const top = Math.min(most, freeHeight - high);
  return { top, bias, row: high / rows, height: fixed + top + high };
}

// A block is {side: of the rows, left: the left operand, a: its width, products, tops: their widths in it, gap; bare: its
// rows have no labels; narrow: the names of its only product may begin left of it}. coming: the products are outlines.
export function drawProduct(sheet, block, { x, y, sizes, coming = false }) {
  const { u, line } = sheet;
  const { side, left, products, a, tops, gap } = block;
  const { top, bias, row } = sizes;
  const xs = x + sheet.tw + sheet.pad;
  const wide = a * tops;
  const yBias = y + line + top + 0.25 * u;
  const yRows = yBias + bias + 0.25 * u + line;
  const h = row * side.n;
  const at = { xs, yRows, h, wide, yTop: y + line, top };
  if (!block.bare) sheet.rowTokens(side, yRows, h, { x });
  const leftRect = { x: xs, y: yRows, w: a, h };
  const operand = { ramp: left.ramp, side, colAxis: left.axis, room: a + (block.narrow ? 0 : 0.75 * gap) };
  const pick = coming && { matrix: left.matrix };
  sheet.named("place." + left.role, left.name, left.shape || [side.n, sheet.d], leftRect, { ...operand, pick });
  products.forEach((product, i) => {
    const { head = null, ramp, axis: colAxis, group, from } = product;
    const above = { x: xs + a + gap + i * (wide + gap), y: y + line, w: wide, h: top };
    const corner = { ...above, y: yRows, h };
    const [weight, key] = [sheet.key(product.weight, head), sheet.key(product.role, head)];
    const [weightShape, shape] = [[product.rows, product.cols], product.off || [side.n, product.cols]];
    if (coming) {
      sheet.coming(weight, above, product.weightName, weightShape);
      return sheet.coming(key, corner, product.name, shape);
    }
    const more = { head, ramp, colAxis, group };
    const weightLook = { ...more, rowAxis: left.axis, scale: true, before: block.narrow ? gap + 3 * u : 0 };
    sheet.named(product.weight, product.weightName, weightShape, above, weightLook);
    sheet.draw("place.b" + product.weight.slice(1), { ...above, y: yBias, h: bias }, { ...more, from });
    // Where the next step cuts the heads out of it.
    const { pick, colFrom } = product;
    const parent = [sheet.key(left.role), weight];
    const first = product.slices ? "x" : undefined; // together with the heads' parts
    const look = { ...more, side, pick, colFrom, parent, first, before: block.narrow ? 0.9 * gap : 0 };
    sheet.named("place." + product.role, product.name, shape, corner, look);
    if (product.slices) drawSlices(sheet, product.role, corner, { ramp, side, parent });
  });
  // A row of biases is added to every product: it is named once, where there is space.
  const labelRect = { x: xs, y: yBias + bias / 2 - 0.7 * u, w: a + gap - 0.45 * u };
  if (!coming) sheet.beside("bias:" + left.role, block.bias || "+ b", labelRect, { align: "right" });
  return at;
}

// The heads' parts of a matrix of all heads, under the matrix: here the matrix is split.
function drawSlices(sheet, role, { x, y, w, h }, more) {
  const top = sheet.whole(role);
  if (top === undefined) return;
  const wide = w / sheet.heads;
  const look = { ...more, top, group: "under", outline: null, z: -1, first: "x" };
  for (let head = 0; head < sheet.heads; head++)
    sheet.draw("place." + role, { x: x + head * wide, y, w: wide, h }, { ...look, head });
}
