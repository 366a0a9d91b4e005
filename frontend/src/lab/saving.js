import { csvText, drawAt, fileStem, savePicture, svgContext, svgFile, writeText } from "../core/save.js";
import { printable } from "../core/dom.js";
import { changesOf, mergesTokens, placeOf } from "../explorer/saving.js";

// Saved files of the lab: one head before, after and their difference, one of its rows and the grids of all heads as SVG
// or PNG; the head's numbers as CSV. Caption and file name say the switches.

export function saveLab(lab, format) {
  const { models, state } = lab;
  const { header } = models.after;
  const [kind, layer, head] = lab.chosenHead();
  const switches = Object.entries(header.switches).map(([param, text]) => `${param}-${text}`);
  const parts = ["headscope", header.checkpoint, kind, ...placeOf(state, { layer, head })];
  const changes = changesOf(state, kind, mergesTokens(lab.chosenView("after")));
  const stem = fileStem([...parts, ...changes, ...(switches.length ? switches : ["as-trained"])]);
  const alone = format === "head";
  return savePicture(stem + (alone ? "-alone" : ""), alone ? "svg" : format, {
    svg: () => pictureOf(lab, alone),
    csv: () => csvOf(lab),
  });
}

// One line per cell: both tokens, under the names of the axes, the weight before, after, and the difference; a hidden cell's weights are 0.
export function csvOf(lab) {
  const { t } = lab;
  const [before, after, difference] = ["before", "after", "difference"].map((name) => lab.chosenView(name));
  const switches = lab.models.after.header.in_words;
  const exact = after.exact && before.exact;
  const sides = ["rows", "columns"].map((side) => t("axis_" + after.sides[side]));
  const head = [...sides, ...["before", "after", "difference"].map((name) => t("lab_csv_" + name, { switches }))];
  const cells = Array.from(after.data, (_, at) => {
    const [row, column] = [Math.floor(at / after.keys), at % after.keys];
    const numbers = [before, after, difference].map(({ data }) => (exact ? data[at] : Number(data[at].toFixed(3))));
    return [after.rowLabels[row], after.columnLabels[column], ...numbers];
  });
  return csvText([head, ...cells]);
}

const GAP = 30;

// alone: only the chosen head, after the switches.
function pictureOf(lab, alone) {
  const { t, theme, panes, row, models, state } = lab;
  const { header } = models.after;
  const context = svgContext();
  const base = theme.size;
  const place = (picture, title, x, y) => {
    const wide = writeText(context, title, x, y, base, theme.ink, 600);
    drawAt(context, x, y + base * 0.6, () => picture.drawOn(context));
    return { right: x + Math.max(wide, picture.width), bottom: y + base * 0.6 + picture.height };
  };
  const { source, target } = header.sentences;
  const sentences = t("caption", { source: printable(source), target: printable(target) });
  const title = panes.after.reader.title(...lab.chosenHead());
  const what = t("lab_caption", { kind: t("kind_" + state.kind), title, switches: header.in_words });
  const words = state.pieces === "words" && mergesTokens(lab.chosenView("after"));
  const caption = [sentences, what, ...(words ? [t("note_words")] : [])];
  let right = 0;
  const line = (pictures, y) => {
    let x = 0;
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
  if (alone) {
    const bottom = line([[panes.after.head, t("lab_after")]], base);
    return svgFile({ theme, caption, markup: context.markup, width: right, height: bottom });
  }
  const heads = names.map((name) => [panes[name].head, t("lab_" + name)]);
  if (!row.plot.canvas.hidden) heads.push([row.plot, row.title.textContent]);
  let bottom = line(heads, base);
  const grids = names.map((name) => [panes[name].grid, t("lab_all_heads", { side: t("lab_" + name) })]);
  bottom = line(grids, bottom + base * 2);
  return svgFile({ theme, caption, markup: context.markup, width: right, height: bottom });
}
