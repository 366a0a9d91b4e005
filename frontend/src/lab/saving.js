import { csvField, fileStem, saveFile, svgToPng } from "../core/save.js";
import { printable } from "../core/dom.js";
import { cssColour } from "../core/colour.js";
import { SvgContext, escape, tag } from "../core/svg_context.js";

// Saved files of the lab: one head before, after and their difference, one of its rows and the grids of all heads as SVG
// or PNG; the head's numbers as CSV. Caption and file name say the switches.

export function saveLab(lab, format) {
  const { models, state } = lab;
  const { header } = models.after;
  const [kind, layer, head] = lab.chosenHead();
  const name = (value, word) => (value === "all" ? `${state.summary}-${word}s` : `${word}${value + 1}`);
  const switches = Object.entries(header.switches).map(([param, text]) => `${param}-${text}`);
  const parts = ["headscope", header.checkpoint, kind, name(layer, "layer"), name(head, "head")];
  const stem = fileStem([...parts, ...(switches.length ? switches : ["as-trained"])]).slice(0, 150);
  if (format === "csv") return saveFile(stem + ".csv", csvOf(lab), "text/csv;charset=utf-8");
  const svg = pictureOf(lab);
  if (format === "svg") return saveFile(stem + ".svg", svg.text, "image/svg+xml");
  return svgToPng(svg).then((blob) => saveFile(stem + ".png", blob));
}

// One line per cell: both tokens, the weight before, after, and the difference; a hidden cell's weights are 0.
export function csvOf(lab) {
  const { t } = lab;
  const [before, after, difference] = ["before", "after", "difference"].map((name) => lab.chosenView(name));
  const switches = lab.models.after.header.in_words;
  const number = (value) => (after.exact && before.exact ? String(Number(value.toPrecision(9))) : value.toFixed(3));
  const head = ["row", "column", "before", "after", "difference"].map((name) => t("lab_csv_" + name, { switches }));
  const lines = [head.map(csvField).join(",")];
  for (let r = 0; r < after.queries; r++) {
    for (let c = 0; c < after.keys; c++) {
      const at = r * after.keys + c;
      const numbers = [before, after, difference].map((view) => number(view.data[at]));
      lines.push([csvField(after.rowLabels[r]), csvField(after.columnLabels[c]), ...numbers].join(","));
    }
  }
  return "\ufeff" + lines.join("\r\n") + "\r\n";
}

const MARGIN = 24;
const GAP = 30;

function pictureOf(lab) {
  const { t, theme, panes, row, models, state } = lab;
  const { header } = models.after;
  const context = new SvgContext(document.createElement("canvas").getContext("2d"));
  const base = theme.size;
  const write = (text, x, y, size, weight = 400) => {
    Object.assign(context, { font: `${weight} ${size}px ${theme.font}`, fillStyle: cssColour(theme.ink) });
    Object.assign(context, { textAlign: "left", textBaseline: "alphabetic" });
    context.fillText(text, x, y);
    return context.measureText(text).width;
  };
  const place = (picture, title, x, y) => {
    const wide = write(title, x, y, base, 600);
    context.save();
    context.translate(x, y + base * 0.6);
    picture.drawOn(context);
    context.restore();
    return { right: x + Math.max(wide, picture.width), bottom: y + base * 0.6 + picture.height };
  };
  const { source, target } = header.sentences;
  const sentences = t("caption", { source: printable(source), target: printable(target) });
  const title = panes.after.reader.title(...lab.chosenHead());
  const caption = t("lab_caption", { sentences, kind: t("kind_" + state.kind), title, switches: header.in_words });
  let right = MARGIN + write(caption, MARGIN, MARGIN + base, base * 1.1);
  const line = (pictures, y) => {
    let x = MARGIN;
    let bottom = y;
    for (const [picture, text] of pictures) {
      const end = place(picture, text, x, y);
      x = end.right + GAP;
      bottom = Math.max(bottom, end.bottom);
    }
    right = Math.max(right, x - GAP);
    return bottom;
  };
  const names = ["before", "after", "difference"];
  const heads = names.map((name) => [panes[name].head, t("lab_" + name)]);
  if (!row.plot.canvas.hidden) heads.push([row.plot, row.title.textContent]);
  let bottom = line(heads, MARGIN + base * 3.4);
  const grids = names.map((name) => [panes[name].grid, t("lab_all_heads", { side: t("lab_" + name) })]);
  bottom = line(grids, bottom + base * 2);
  const [width, height] = [Math.ceil(right + MARGIN), Math.ceil(bottom + MARGIN)];
  const root = { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${height}`, "font-family": theme.font };
  const page = tag("rect", { width, height, fill: cssColour(theme.background) });
  const content = tag("title", {}, escape(caption)) + page + context.markup;
  const text = '<?xml version="1.0" encoding="UTF-8"?>\n' + tag("svg", { ...root, width, height }, content);
  return { text, width, height };
}
