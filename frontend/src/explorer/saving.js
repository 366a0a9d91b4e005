import { printable } from "../core/dom.js";
import { pictureSvg, svgFile, viewCsv, savePicture, fileStem } from "../core/save.js";

// Saved files: the picture on the screen as SVG or PNG, the numbers of the chosen head as CSV.

// "The cat sleeps.  →  Die Katze schläft.", the step of the training, and what was done to the numbers.
function captionOf({ t, model }, panel) {
  const { recorded, header } = model;
  const { source, target } = header.sentences;
  let caption = t("caption", { source: printable(source), target: printable(target) });
  if (recorded) caption = t("caption_recorded", { ...recorded, caption });
  const notes = panel.note.textContent;
  return notes ? t("caption_notes", { caption, notes }) : caption;
}

// panels: those to draw; alone: only the heads, without the grids of all heads.
function pictureOf(explorer, panels, alone) {
  const drawn = panels.filter((panel) => panel.view.queries && panel.view.keys);
  if (!drawn.length) return null;
  return pictureSvg({
    theme: explorer.theme,
    caption: captionOf(explorer, drawn[0]),
    panels: drawn.map((panel) => ({
      grid: alone ? null : panel.grid,
      plot: panel.plot,
      legend: explorer.legendOf(panel),
      gridTitle: explorer.t("kind_" + panel.kind),
      title: panel.title.firstChild.textContent,
      subtitle: panel.about,
    })),
  });
}

// Whether a picture has rows or columns of several subword tokens.
export function mergesTokens(view) {
  return [...view.rows, ...view.columns].some((group) => group.length > 1);
}

// What was done to the numbers, for the name of a file: "fed-words-renormalised-threshold0.1". merged: whether tokens
// are merged in what is drawn.
export function changesOf(state, kind, merged) {
  const names = [];
  if (state.rows !== "predicted" && kind !== "encoder_self") names.push(state.rows);
  if (state.pieces === "words" && merged) names.push("words");
  if (state.special !== "shown") names.push(state.special);
  if (state.threshold > 0) names.push(`threshold${state.threshold}`);
  return names;
}

// Layer and head, for the name of a file.
export function placeOf({ summary }, { layer, head }) {
  const name = (value, word) => (value === "all" ? `${summary}-${word}s` : `${word}${value + 1}`);
  return [name(layer, "layer"), name(head, "head")];
}

export function saveExplorer(explorer, format) {
  explorer.unpoint();
  const { state, panels, model } = explorer;
  const panel = panels.find((panel) => panel.kind === explorer.focusKind) || panels[0];
  const { view } = panel;
  const which = ["png", "svg"].includes(format) && panels.length > 1 ? "all" : panel.kind;
  const merged = panels.some((other) => mergesTokens(other.view));
  const changes = [
    ...(model.recorded ? [`step${model.recorded.step}`] : []),
    ...changesOf(state, panel.kind, merged),
    ...(format === "head" ? ["alone"] : []),
  ];
  const stem = fileStem(["headscope", model.header.checkpoint, which, ...placeOf(state, view), ...changes]);
  return savePicture(stem, format === "head" ? "svg" : format, {
    svg: () => (format === "head" ? pictureOf(explorer, [panel], true) : pictureOf(explorer, panels, false)),
    csv: () => csvOf(explorer, view),
  });
}

// The words and the lines of the first sight.
export function saveSight(explorer, format) {
  explorer.unpoint();
  const { t, state, theme, sight, model } = explorer;
  const { view } = sight;
  const changes = changesOf({ ...state, special: "hidden" }, "cross", mergesTokens(view));
  const stem = fileStem(["headscope", model.header.checkpoint, "first-sight", ...placeOf(state, view), ...changes]);
  return savePicture(stem, format, {
    svg: () => svgFile({ theme, caption: [sight.said, t("note_hidden")], ...sight.drawing() }),
    csv: () => csvOf(explorer, view),
  });
}

function csvOf({ t }, view) {
  const sides = { rows: t("axis_" + view.sides.rows), columns: t("axis_" + view.sides.columns) };
  return viewCsv(view, t(view.exact ? "csv_corner" : "csv_corner_approximate", sides));
}
