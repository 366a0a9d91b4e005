import { nice, range, ticks } from "d3-array";
import { el, setAttributes, svgEl } from "../core/dom.js";
import { listText } from "../core/lists.js";
import { runLabel, lossText, percentText } from "./words.js";
import { runMark, runSwatch } from "./status.js";

// Loss and exact match over steps, with all runs in each plot and a cursor at the step shown. The second series is the
// thick one.

const PLOTS = [
  { name: "exact", series: ["forced", "exact"] },
  { name: "loss", series: ["loss", "validation_loss"] },
];
const LEAST = 1e-4; // the end of a logarithmic axis of losses; it is fixed so that nothing jumps

// An axis of losses up to `top`: {ticks, share(value)}.
export function lossAxis(top, log) {
  if (!log) {
    const [, high] = nice(0, top || 1, 4);
    return { ticks: ticks(0, high, 4), share: (value) => Math.min(1, value / high) };
  }
  const low = Math.log10(LEAST);
  const high = Math.max(0, Math.ceil(Math.log10(top || 1)));
  const powers = range(low, high + 1).map((power) => 10 ** power);
  const share = (value) => Math.min(1, Math.max(0, (Math.log10(Math.max(value, LEAST)) - low) / (high - low)));
  return { ticks: powers, share };
}

// The ticks whose labels fit above each other, `apart` pixels at least: always the last, and from the first on.
export function roomy(ticks, y, apart) {
  const end = ticks.at(-1);
  let below = Infinity;
  return ticks.filter((tick) => {
    const fits = tick === end || (below - y(tick) >= apart && y(tick) - y(end) >= apart);
    if (fits) below = y(tick);
    return fits;
  });
}

export class Curves {
  // hooks: {t, tooltip, goToStep(step), redraw(), report()}
  constructor(hooks) {
    this.hooks = hooks;
    this.plots = PLOTS.map((plot) => this.makePlot(plot));
    this.element = el("div", { class: "learn-curves" }, ...this.plots.map((plot) => plot.figure));
  }

  makePlot({ name, series }) {
    const { t } = this.hooks;
    const values = el("span", { class: "learn-values", "data-testid": `training-values-${name}` });
    const head = el("h2", { title: t(name + "_title") }, el("span", null, t(name)), " ");
    head.append(el("small", null, t(name + "_unit")));
    if (name === "loss") {
      this.log = el("input", {
        type: "checkbox",
        "data-testid": "training-log",
        change: () => {
          this.hooks.redraw();
          this.hooks.report();
        },
      });
      head.append(el("label", { class: "learn-log", title: t("log_title") }, this.log, t("log")));
    }
    const svg = svgEl("svg", { class: "learn-svg", role: "img", "data-testid": `training-plot-${name}` });
    const plot = { name, series, values, head, svg };
    svg.addEventListener("pointermove", (event) => this.pointer(plot, event));
    svg.addEventListener("pointerleave", () => this.hooks.tooltip.hide());
    svg.addEventListener("click", (event) => this.places && this.hooks.goToStep(this.stepAt(svg, event)));
    plot.figure = el("figure", { class: "learn-plot", "aria-label": t(name) }, head, values, svg);
    return plot;
  }

  // Axes and one group per run; sizes: {width, height of each plot}, theme: of readTheme.
  layout(store, theme, sizes) {
    this.runs = store.runs;
    const em = theme.size;
    const { width, height } = sizes;
    const small = (13 / 15) * em;
    const inside = { left: 3.1 * em, right: width - 0.9 * em, top: 0.6 * em };
    const last = Math.max(1, ...this.runs.map((run) => run.about.steps));
    const step = (value) => inside.left + (value / last) * (inside.right - inside.left);
    this.places = { ...inside, last, step, width, em };
    const every = ticks(0, last, width > 22 * em ? 4 : 2);
    this.plots.forEach((plot, i) => {
      const bottom = height - (i === this.plots.length - 1 ? 1.7 : 0.5) * em;
      const axis = this.axis(plot);
      const y = (value) => bottom - axis.share(value) * (bottom - inside.top);
      Object.assign(plot, { y, bottom });
      const { svg } = plot;
      setAttributes(svg, { viewBox: `0 0 ${width} ${height}`, width, height });
      svg.style.fontSize = small + "px";
      const lines = axis.ticks.map((tick) => `M${inside.left} ${y(tick).toFixed(1)}H${inside.right}`).join("");
      const parts = [svgEl("path", { class: "learn-grid-lines", d: lines })];
      for (const tick of roomy(axis.ticks, y, 1.1 * small)) {
        const position = { x: inside.left - 0.5 * em, y: y(tick) + 0.33 * small, "text-anchor": "end" };
        parts.push(svgEl("text", position, this.tick(plot, tick)));
      }
      const marks = every.map((tick) => `M${step(tick).toFixed(1)} ${bottom}v4`).join("");
      parts.push(svgEl("path", { class: "learn-axis", d: `M${inside.left} ${bottom}H${inside.right}${marks}` }));
      if (i === this.plots.length - 1) {
        for (const tick of every)
          parts.push(
            svgEl("text", { x: step(tick), y: bottom + 1.3 * em, "text-anchor": "middle" }, tick.toLocaleString("en")),
          );
        parts.push(svgEl("text", { x: 0, y: bottom + 1.3 * em }, this.hooks.t("axis_steps")));
      }
      plot.cursor = svgEl("path", { class: "learn-cursor", d: `M0 ${inside.top}V${bottom}` });
      plot.lines = this.runs.map((run) => this.makeLines(plot, run));
      const groups = plot.lines.map((line) => line.group);
      svg.replaceChildren(...parts, plot.cursor, ...groups.reverse(), ...plot.lines.map((line) => line.mark));
      plot.values.replaceChildren(...plot.lines.map((line) => line.value));
    });
  }

  axis(plot) {
    if (plot.name !== "loss") return { ticks: [0, 0.5, 1], share: (value) => value };
    let top = 0;
    for (const run of this.runs)
      for (const frame of run.frames) top = Math.max(top, frame.loss || 0, frame.validation_loss || 0);
    this.top = top;
    return lossAxis(top, this.log.checked);
  }

  // Whether a loss has come that is outside the axis.
  outgrown(run, from) {
    for (let i = Math.max(0, from); i <= run.last; i++)
      if (Math.max(run.frames[i].loss || 0, run.frames[i].validation_loss || 0) > this.top) return true;
    return false;
  }

  tick(plot, value) {
    if (plot.name !== "loss") return percentText(this.hooks.t, value);
    return value >= 0.01 || value === 0 ? String(value) : value.toExponential(0).replace("-", "−");
  }

  makeLines(plot, run) {
    const group = svgEl("g", { "data-slot": run.slot });
    const paths = plot.series.map((name, i) => {
      const thin = i === 0;
      const path = svgEl("path", { class: thin ? "learn-line learn-thin" : "learn-line", "data-slot": run.slot });
      path.dataset.series = name;
      group.append(path);
      return path;
    });
    const mark = svgEl("g", { visibility: "hidden" }, runMark(run.slot, 0, 0, 0.36 * this.places.em));
    const valueText = el("b");
    const value = el("span", { "data-slot": run.slot }, this.runs.length > 1 ? runSwatch(run.slot) : null, valueText);
    const pieces = plot.series.map(() => []);
    return { run, group, paths, mark, number: valueText, value, pieces, seen: plot.series.map(() => 0), until: -1 };
  }

  // The path of a series up to a frame, in pieces: [index of the frame, text], each computed once.
  path(plot, line, i, index) {
    const { run } = line;
    const pieces = line.pieces[i];
    const name = plot.series[i];
    for (let at = line.seen[i]; at < run.frames.length; at++) {
      const frame = run.frames[at];
      if (typeof frame[name] !== "number") continue;
      const point = `${this.places.step(frame.step).toFixed(1)} ${plot.y(frame[name]).toFixed(1)}`;
      pieces.push([at, (pieces.length ? "L" : "M") + point]);
    }
    line.seen[i] = run.frames.length;
    let text = "";
    for (const [at, piece] of pieces) {
      if (at > index) break;
      text += piece;
    }
    return text;
  }

  // chosen: the run whose frame `index` is shown; growing: its curves end there, as during training, and those of
  // recorded runs end at the same step. speak: with
  // descriptions for screen readers.
  update(chosen, index, growing, speak) {
    if (!this.places) return;
    const step = chosen && chosen.frames.length ? chosen.frames[index].step : null;
    for (const plot of this.plots) {
      plot.cursor.setAttribute("visibility", step === null ? "hidden" : "visible");
      if (step !== null) plot.cursor.setAttribute("transform", `translate(${this.places.step(step).toFixed(1)} 0)`);
      for (const line of plot.lines) {
        const { run } = line;
        const grows = growing && (run === chosen || run.about.recording);
        const until = grows ? (run === chosen ? index : run.frameAt(step ?? 0)) : run.last;
        const path = (element, i) => element.setAttribute("d", this.path(plot, line, i, until));
        if (line.until !== until) line.paths.forEach(path);
        line.until = until;
        const at = this.at(run, step);
        const main = plot.series[plot.series.length - 1];
        const value = at < 0 ? null : run.latest(main, at);
        line.mark.setAttribute("visibility", value === null ? "hidden" : "visible");
        if (value !== null) {
          const x = this.places.step(run.frames[at].step).toFixed(1);
          line.mark.setAttribute("transform", `translate(${x} ${plot.y(value).toFixed(1)})`);
        }
        line.number.textContent = this.text(plot, run, at);
      }
      if (speak) plot.svg.setAttribute("aria-label", this.spoken(plot, step));
    }
  }

  // The index of a run's frame at a step; without a step its last frame, without frames -1.
  at(run, step) {
    return step === null || !run.frames.length ? run.last : run.frameAt(step);
  }

  text(plot, run, at) {
    const { t } = this.hooks;
    const written = plot.name === "loss" ? lossText : percentText;
    const [thin, thick] = plot.series.map((name) => written(t, at < 0 ? null : run.latest(name, at)));
    return this.runs.length > 2 || (plot.name === "loss" && this.runs.length > 1)
      ? thick
      : t(plot.name + "_both", { thin, thick });
  }

  spoken(plot, step) {
    const { t } = this.hooks;
    const values = plot.lines.map(({ run }) => {
      const at = this.at(run, step);
      const label = runLabel(t, run);
      return t("plot_value", { label, value: this.text(plot, run, at) });
    });
    return t("plot_spoken", { name: t(plot.name), step: step ?? 0, values: listText(t, values) });
  }

  stepAt(svg, event) {
    const frame = svg.getBoundingClientRect();
    const { left, right, last, width } = this.places;
    const x = ((event.clientX - frame.left) / frame.width) * width;
    return Math.max(0, Math.min(last, ((x - left) / (right - left)) * last));
  }

  pointer(plot, event) {
    if (!this.places || !this.runs.some((run) => run.frames.length)) return;
    const { t, tooltip } = this.hooks;
    const step = this.stepAt(plot.svg, event);
    const lines = [t("step", { step: Math.round(step).toLocaleString("en") })];
    for (const run of this.runs) {
      if (!run.frames.length) continue;
      lines.push(t("plot_value", { label: runLabel(t, run), value: this.text(plot, run, run.frameAt(step)) }));
    }
    tooltip.show(lines, event.clientX, event.clientY);
  }
}
