import { cssColour } from "../../core/colour.js";
import { svgFile } from "../../core/save.js";
import { SvgContext, runsByColour, tag } from "../../core/svg_context.js";
import { paintItem, PaintKit } from "./paint.js";
import { shapeAtRest } from "./stage.js";

// The drawing as SVG, painted by the code that paints it on the screen. Texts stay texts, matrices become one path per
// colour.

const SLANTED = "italic ";

export class SceneContext extends SvgContext {
  /** @type {number[]} */ dashes = [];
  /** @type {number[]} */ last = [0, 0];
  defs = "";

  constructor(measure, theme) {
    super(measure);
    this.theme = theme;
  }

  save() {
    super.save();
    Object.assign(this.saved.at(-1), { dashes: this.dashes });
  }

  moveTo(x, y) {
    super.moveTo(x, y);
    this.last = [x, y];
  }

  lineTo(x, y) {
    super.lineTo(x, y);
    this.last = [x, y];
  }

  bezierCurveTo(...points) {
    this.path += `C${points.map(rounded).join(" ")}`;
    this.last = points.slice(-2);
  }

  // A corner from the last point to (x2, y2), rounded around (x1, y1).
  arcTo(x1, y1, x2, y2, radius) {
    const towards = (/** @type {number[]} */ [x, y]) => {
      const far = Math.hypot(x - x1, y - y1) || 1;
      const share = Math.min(radius, far / 2) / far;
      return [x1 + (x - x1) * share, y1 + (y - y1) * share];
    };
    const [from, to] = [towards(this.last), towards([x2, y2])];
    this.path += `L${from.map(rounded).join(" ")}Q${[x1, y1, ...to].map(rounded).join(" ")}`;
    this.last = to;
  }

  arc(x, y, radius) {
    const r = rounded(radius);
    this.path += `M${rounded(x - radius)} ${rounded(y)}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
  }

  roundRect(x, y, width, height, radius) {
    const r = Math.max(0, radius);
    const corner = (dx, dy) => `q${[dx[0], dx[1], dy[0], dy[1]].map(rounded).join(" ")}`;
    this.path +=
      `M${rounded(x + r)} ${rounded(y)}h${rounded(width - 2 * r)}${corner([r, 0], [r, r])}v${rounded(height - 2 * r)}` +
      `${corner([0, r], [-r, r])}h${rounded(2 * r - width)}${corner([-r, 0], [-r, -r])}v${rounded(2 * r - height)}` +
      `${corner([0, -r], [r, -r])}z`;
  }

  closePath() {
    this.path += "z";
  }

  fill() {
    if (this.path) this.add(tag("path", { d: this.path, ...this.ink("fill", this.fillStyle) }));
  }

  setLineDash(dashes) {
    this.dashes = dashes;
  }

  line() {
    const dash = this.dashes.length ? { "stroke-dasharray": this.dashes.join(" ") } : {};
    return { ...super.line(), ...dash };
  }

  // The hatch of masked cells.
  createPattern() {
    const { masked, hatch } = this.theme;
    const lines = tag("path", { d: "M-1 9L9 -1M-5 5L5 -5M3 13L13 3", stroke: cssColour(hatch), "stroke-width": 1.2 });
    const ground = tag("rect", { width: 8, height: 8, fill: cssColour(masked) });
    const size = { width: 8, height: 8, patternUnits: "userSpaceOnUse" };
    this.defs = tag("defs", {}, tag("pattern", { id: "hatch", ...size }, ground + lines));
    return "url(#hatch)";
  }

  fillText(text, x, y, most) {
    const slanted = this.font.startsWith(SLANTED);
    const before = this.markup.length;
    const font = this.font;
    this.font = slanted ? font.slice(SLANTED.length) : font;
    super.fillText(text, x, y, most);
    this.font = font;
    if (slanted)
      this.markup =
        this.markup.slice(0, before) + this.markup.slice(before).replace("<text ", '<text font-style="italic" ');
  }

  // As in SvgContext, but with the opacity of the picture, and without what is transparent in it.
  drawImage(canvas, ...args) {
    const [x, y, width, height] = args.slice(-4);
    const [sx, sy, columns, rows] = args.length > 4 ? args : [0, 0, canvas.width, canvas.height];
    if (!(columns > 0 && rows > 0)) return;
    const image = canvas.getContext("2d").getImageData(sx, sy, columns, rows);
    const clear = "transparent";
    const cells = runsByColour(image, (alpha) => (alpha ? null : clear));
    cells.delete(clear);
    const paths = [...cells].map(([fill, d]) => tag("path", { fill, d })).join("");
    const transform = `translate(${rounded(x)} ${rounded(y)}) scale(${width / columns} ${height / rows})`;
    const opacity = this.globalAlpha < 1 ? { opacity: this.globalAlpha } : {};
    this.add(tag("g", { transform, "shape-rendering": "crispEdges", ...opacity }, paths));
  }
}

const rounded = (value) => Math.round(value * 100) / 100;

// items: of the scene, in the order in which they are painted; lines: of the caption.
export function sceneSvg(items, size, theme, lines) {
  const context = new SceneContext(document.createElement("canvas").getContext("2d"), theme);
  const kit = new PaintKit();
  for (const item of items) paintItem(context, item, shapeAtRest(item), kit, theme, null);
  return svgFile({ theme, caption: lines, markup: context.defs + context.markup, ...size });
}
