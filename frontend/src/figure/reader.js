import { el } from "../core/dom.js";
import { arrowStep, stepIndex } from "../core/keys.js";

// A plotly figure for keyboard and screen reader: one stop of the Tab key; the arrow keys move from number to number.
// Each number is shown as under the pointer, and plotly's hover text is spoken.

const HOVER = 90; // milliseconds: plotly draws a hover at most every 50

// The numbers of a figure to read: {curve, trace, rows, columns, value}. All but a heatmap is one row of points.
function readTraces(box) {
  const read = [];
  (box._fullData || []).forEach((trace, curve) => {
    if (trace.visible !== true || trace.hoverinfo === "skip") return;
    const { z } = trace;
    if (z && z.length && z[0].length) {
      const value = (r, c) => Number(z[r][c]);
      read.push({ curve, trace, rows: z.length, columns: z[0].length, value });
      return;
    }
    const values = trace.orientation === "h" ? trace.x : trace.y;
    if (values && values.length)
      read.push({ curve, trace, rows: 1, columns: values.length, value: (_, c) => Number(values[c]) });
  });
  return read;
}

function rangeOf(read) {
  let [count, low, high] = [0, Infinity, -Infinity];
  for (const row of read) {
    for (let r = 0; r < row.rows; r++) {
      for (let c = 0; c < row.columns; c++) {
        const value = row.value(r, c);
        if (!Number.isFinite(value)) continue;
        count += 1;
        low = Math.min(low, value);
        high = Math.max(high, value);
      }
    }
  }
  return { count, low: Number(low.toPrecision(3)), high: Number(high.toPrecision(3)) };
}

export class FigureReader {
  /** @type {any} */ box;
  /** @type {any} */ choose;
  /** @type {Translate} */ t;
  // box: plotly's element; t: of makeTexts, with read and read_none among its texts; choose: called with (row, column)
  // at Enter
  constructor(box, t, choose) {
    Object.assign(this, { box, t, choose, at: null });
    this.spoken = el("div", { class: "hs-spoken", role: "status", "aria-live": "polite" });
    box.tabIndex = 0;
    box.setAttribute("role", "application");
    box.addEventListener("keydown", (event) => this.key(event));
    box.addEventListener("blur", () => this.leave());
  }

  // After a drawing. title: of the figure
  describe(title) {
    this.read = readTraces(this.box);
    const range = rangeOf(this.read);
    this.box.setAttribute("aria-label", this.t(range.count ? "read" : "read_none", { title, ...range }));
    if (this.at) this.at = this.bounded(this.at);
  }

  bounded([series, row, column]) {
    const which = stepIndex(series, 0, this.read.length);
    const { rows, columns } = this.read[which] || { rows: 1, columns: 1 };
    return [which, stepIndex(row, 0, rows), stepIndex(column, 0, columns)];
  }

  key(event) {
    if (event.target !== this.box || event.ctrlKey || event.metaKey || event.altKey || !(this.read || []).length)
      return;
    if (event.key === "Enter" && this.at) this.choose(this.at[1], this.at[2]);
    else if (event.key === "Escape" && this.at) this.leave();
    else {
      const next = this.next(event);
      if (!next) return;
      this.at = this.bounded(next);
      this.show();
    }
    event.preventDefault();
  }

  next(event) {
    const arrow = arrowStep(event);
    const across = { Home: -Infinity, End: Infinity }[event.key] ?? arrow?.[1];
    const down = arrow?.[0];
    if (across === undefined) return null;
    if (!this.at) return [0, 0, 0];
    const [series, row, column] = this.at;
    if (across) return [series, row, column + across];
    const { rows } = this.read[series];
    // after the last row of a matrix, or after a line or bar chart, comes the next trace
    if (row + down >= 0 && row + down < rows) return [series, row + down, column];
    const next = this.read[series + down];
    return next ? [series + down, down > 0 ? 0 : next.rows - 1, column] : this.at;
  }

  show() {
    const [series, row, column] = this.at;
    const { curve, trace, value } = this.read[series];
    const point = trace.z
      ? { xval: this.centre(trace, "x", column), yval: this.centre(trace, "y", row) } // it finds no cell by its number
      : { pointNumber: column };
    const over = (trace.xaxis || "x") + (trace.yaxis || "y");
    window.Plotly.Fx.hover(this.box, [{ curveNumber: curve, ...point }], over);
    const about = this.unifiedPlace(trace, column);
    clearTimeout(this.saying);
    this.saying = setTimeout(() => {
      const lines = Array.from(
        this.box.querySelectorAll(".hoverlayer text"),
        (text) =>
          Array.from(text.querySelectorAll("tspan.line"), (line) => line.textContent).join(", ") || text.textContent,
      );
      const spoken = lines
        .map((line) => line.trim())
        .filter(Boolean)
        .join("; ");
      this.spoken.textContent = about + (spoken || `${column + 1}: ${Number(value(row, column).toPrecision(4))}`);
    }, HOVER);
  }

  axis(trace, letter) {
    const id = trace[letter + "axis"] || letter;
    return this.box._fullLayout[letter + "axis" + id.slice(1)] || {};
  }

  // The middle of a heatmap's column or row in the numbers of its axis.
  centre(trace, letter, at) {
    const values = trace[letter];
    if (!values || values.length <= at) return (trace[letter + "0"] || 0) + at * (trace["d" + letter] || 1);
    const axis = this.axis(trace, letter);
    return axis.d2c ? axis.d2c(values[at]) : values[at];
  }

  // The position of a point, for hovers that state it once for all lines; "" for other hovers.
  unifiedPlace(trace, column) {
    if (trace.z || !/unified/.test(this.box._fullLayout.hovermode || "")) return "";
    const axis = this.axis(trace, "x");
    const value = trace.x ? trace.x[column] : column;
    const labels = ((this.box._fullLayout.meta || {}).labels || {})[trace.xaxis || "x"];
    const label = labels && value in labels ? labels[value] : value;
    const title = ((axis.title || {}).text || "").replace(/<[^>]*>/g, "");
    return `${title} ${label}: `.trimStart();
  }

  leave() {
    clearTimeout(this.saying);
    this.at = null;
    if (window.Plotly && this.box._fullLayout) window.Plotly.Fx.unhover(this.box);
  }
}
