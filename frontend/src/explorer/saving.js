import { printable } from "../core/dom.js";
import { pictureSvg, svgToPng, viewCsv, saveFile, fileStem } from "../core/save.js";

// Saved files: the picture on the screen as SVG or PNG, the numbers of the chosen head as CSV.

// "The cat sleeps.  →  Die Katze schläft."
function sentencesOf(header) {
  const { special, words, word_labels: wordLabels } = header;
  const sentence = (side) =>
    [...new Set(words[side])]
      .filter((word) => !special[side][words[side].indexOf(word)])
      .map((word) => printable(wordLabels[side][word]))
      .join(" ");
  return `${sentence("source")}  →  ${sentence("target_out")}`;
}

function pictureOf(explorer) {
  const panels = explorer.panels.filter((panel) => panel.view.queries && panel.view.keys);
  const { recorded, header } = explorer.model;
  const caption = sentencesOf(header);
  if (!panels.length) return null;
  return pictureSvg({
    theme: explorer.theme,
    caption: recorded ? explorer.t("recorded_caption", { ...recorded, caption }) : caption,
    panels: panels.map((panel) => ({
      grid: panel.grid,
      plot: panel.plot,
      legend: explorer.legendOf(panel),
      gridTitle: explorer.t("kind_" + panel.kind),
      title: panel.title.firstChild.textContent,
      subtitle: panel.about,
    })),
  });
}

export function saveExplorer(explorer, format) {
  const { t, state, panels, model } = explorer;
  const panel = panels.find((panel) => panel.kind === explorer.focusKind) || panels[0];
  const { view } = panel;
  const name = (value, word) => (value === "all" ? `${state.summary}-${word}s` : `${word}${value + 1}`);
  const which = format !== "csv" && panels.length > 1 ? "all" : panel.kind;
  const stem = fileStem([
    "headscope",
    model.header.checkpoint,
    which,
    name(view.layer, "layer"),
    name(view.head, "head"),
    ...(model.recorded ? [`step${model.recorded.step}`] : []),
  ]);
  if (format === "csv") {
    const sides = { rows: t("axis_" + view.sides.rows), columns: t("axis_" + view.sides.columns) };
    const corner = t(view.exact ? "csv_corner" : "csv_corner_approximate", sides);
    saveFile(stem + ".csv", viewCsv(view, corner), "text/csv;charset=utf-8");
    return;
  }
  const svg = pictureOf(explorer);
  if (!svg) return;
  if (format === "svg") saveFile(stem + ".svg", svg.text, "image/svg+xml");
  else svgToPng(svg).then((blob) => saveFile(stem + ".png", blob));
}
