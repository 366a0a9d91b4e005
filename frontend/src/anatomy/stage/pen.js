// Collects the items of a scene in the order they are drawn. Lengths are in pixels; one unit is the size of a text.
export class Pen {
  /** @type {any[]} */ items = [];

  constructor(ctx) {
    this.ctx = ctx;
    this.unit = ctx.unit;
  }

  add(item) {
    this.items.push(item);
    return item;
  }

  box(key, rect, look = {}) {
    return this.add({ key, kind: "box", ...rect, ...look });
  }

  // The outline of a matrix whose numbers have not arrived.
  outline(key, rect, look = {}) {
    return this.box(`${key}:wait`, rect, { stroke: "line", dash: true, radius: 2, ...look });
  }

  // Labels of rows.
  tokens(key, labels, rect, look = {}) {
    return this.add({ key, kind: "tokens", orient: "rows", align: "right", labels, ...rect, ...look });
  }

  // A line or an arrow through points, [x, y, x, y, ...]; its rectangle is the frame around them.
  path(key, points, look = {}) {
    const [xs, ys] = [0, 1].map((odd) => points.filter((_, i) => i % 2 === odd));
    const [x, y] = [Math.min(...xs), Math.min(...ys)];
    const frame = { x, y, w: Math.max(...xs) - x, h: Math.max(...ys) - y };
    return this.add({ key, kind: "arrow", points, ...frame, ...look });
  }
}
