import { csvText, fileStem, pictureSvg, savePicture, viewCsv } from "../core/save.js";
import { styledSvg } from "../core/snapshot.js";
import { cssColour } from "../core/colour.js";
import { escape, tag } from "../core/svg_context.js";
import { runLabel } from "./words.js";

// Saved files: heads and curves at the step shown as SVG or PNG, the numbers of all runs and the weights of the enlarged
// head as CSV.

const NUMBERS = ["loss", "validation_loss", "forced", "exact"];

function plotPicture(t, plot, theme) {
  const head = theme.size * 2.6;
  const { width, height } = plot.svg.viewBox.baseVal;
  const write = (text, y, weight) =>
    tag("text", { x: 0, y, "font-size": theme.size, "font-weight": weight, fill: cssColour(theme.ink) }, escape(text));
  const values = plot.lines.map((line) => `${runLabel(t, line.run)}: ${line.number.textContent}`).join("   ");
  const texts =
    write(`${t(plot.name)} (${t(plot.name + "_unit")})`, theme.size, 600) + write(values, theme.size * 2.3, 400);
  const markup =
    texts + tag("g", { transform: `translate(0 ${head})` }, new XMLSerializer().serializeToString(styledSvg(plot.svg)));
  return { markup, width, height: height + head };
}

function picture(view, caption) {
  const { t, stage, curves, theme } = view;
  const { view: shown } = stage.enlarged;
  const place = stage.spokenPlace(view.run);
  const legend = { top: 1, threshold: 0, low: "0", high: "1" };
  return pictureSvg({
    theme,
    caption,
    panels: stage.shownKinds().map((kind) => {
      const chosen = kind === shown.kind;
      const plot = chosen ? stage.enlarged : { drawOn() {}, width: 0, height: 0, kind };
      const title = chosen ? t("title_head", place) : "";
      return { grid: stage.grid[kind], plot, legend, gridTitle: stage.kindName(view.run, kind), title, subtitle: "" };
    }),
    first: curves.plots.map((plot) => plotPicture(t, plot, theme)),
  });
}

// One row a frame of each run. Exported for tests.
export function numbersCsv(t, runs) {
  const rows = runs.flatMap((run) =>
    run.frames.map((frame) => [
      runLabel(t, run),
      run.about.seed,
      frame.step,
      ...NUMBERS.map((name) => frame[name] ?? NaN),
    ]),
  );
  const names = ["run", "seed", "step", "training loss", "unseen loss", "teacher-forced exact", "free-running exact"];
  return csvText([names, ...rows]);
}

function headCsv(view) {
  const { view: shown } = view.stage.enlarged;
  return viewCsv({ ...shown, exact: false }, view.t("save_corner"));
}

export function saveTraining(view, format) {
  const { run, t } = view;
  if (!run || !run.frames.length) return;
  const { step } = run.frames[Math.min(view.shown, run.last)];
  const { preset = "", scene = "" } = view.store.more;
  const values = { preset, label: runLabel(t, run), seed: run.about.seed, step: step.toLocaleString("en") };
  const { kind, layer, head } = view.stage.enlarged.view;
  const which = format === "head" ? [kind, `layer${layer + 1}`, `head${head + 1}`] : [];
  const about = [scene.split(" ")[0], values.label, `seed${run.about.seed}`];
  const stem = fileStem(["headscope-training", ...about, ...which, `step${step}`]);
  return savePicture(stem, format === "head" ? "csv" : format, {
    svg: () => picture(view, t("save_caption", values)),
    csv: () => (format === "head" ? headCsv(view) : numbersCsv(t, view.store.runs)),
  });
}
