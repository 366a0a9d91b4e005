import { shorten } from "./dom.js";
import { makeRamp, rampIndex, cssColour } from "./colour.js";
import { SvgContext, escape, tag } from "./svg_context.js";

// The picture as SVG, from which the PNG is made, and the head's numbers as CSV. The code that draws heads on the
// screen also draws them here; text stays text.

const PAGE_MARGIN = 24;
const WIDEST_CAPTION = 1600; // pixels; longer ones end with "…"

// picture: {theme, caption, panels: [{grid, plot, gridTitle, title, subtitle, legend}], below}; plot is a HeadPlot or a
// LinesPlot, grid is null for a head alone; below: pictures under the panels, {markup, width, height}.
export function pictureSvg({ theme, caption, panels, below = [] }) {
  const context = new SvgContext(document.createElement("canvas").getContext("2d"));
  const base = theme.size;
  const write = (text, x, y, size, colour, weight = 400) => {
    Object.assign(context, { font: `${weight} ${size}px ${theme.font}`, fillStyle: cssColour(colour) });
    Object.assign(context, { textAlign: "left", textBaseline: "alphabetic" });
    context.fillText(text, x, y);
    return context.measureText(text).width;
  };
  const at = (x, y, draw) => {
    context.save();
    context.translate(x, y);
    draw();
    context.restore();
  };
  const beside = panels.length === 1;
  let width = 0;
  let height = 0;
  let x = PAGE_MARGIN;
  for (const { grid, plot, gridTitle, title, subtitle, legend } of panels) {
    let y = PAGE_MARGIN + base * 3.4;
    const right = grid && beside ? x + grid.width + 36 : x;
    let gridBottom = 0;
    if (grid) {
      write(gridTitle, x, y, base, theme.ink, 600);
      at(x, y + base * 0.8, () => grid.drawOn(context));
      gridBottom = y + base * 0.8 + grid.height;
      if (!beside) y = gridBottom + base * 2;
    }
    write(title, right, y, base, theme.ink, 600);
    const wide = write(subtitle, right, y + base * 1.35, base * 0.85, theme.dim);
    const plotTop = y + base * 2;
    at(right, plotTop, () => plot.drawOn(context));
    const legendTop = plotTop + plot.height + base;
    at(right, legendTop, () => drawLegend(context, write, legend, theme, plot.kind));
    x = Math.max(right + Math.max(plot.width, wide), x + (grid ? grid.width : 0)) + 30;
    width = Math.max(width, x);
    height = Math.max(height, gridBottom, legendTop + base * 1.4);
  }
  for (const { markup, ...size } of below) {
    height += base;
    context.add(tag("g", { transform: `translate(${PAGE_MARGIN} ${Math.ceil(height)})` }, markup));
    width = Math.max(width, size.width + 2 * PAGE_MARGIN);
    height += size.height;
  }
  width = Math.ceil(width);
  height = Math.ceil(height + PAGE_MARGIN);
  context.font = `${base * 1.1}px ${theme.font}`;
  width = Math.ceil(Math.max(width, Math.min(context.measureText(caption).width + 2 * PAGE_MARGIN, WIDEST_CAPTION)));
  write(shorten(context, caption, width - 2 * PAGE_MARGIN), PAGE_MARGIN, PAGE_MARGIN + base, base * 1.1, theme.ink);
  const root = { xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${height}`, "font-family": theme.font };
  const page = tag("rect", { width, height, fill: cssColour(theme.background) });
  const content = tag("title", {}, escape(caption)) + page + context.markup;
  const text = '<?xml version="1.0" encoding="UTF-8"?>\n' + tag("svg", { ...root, width, height }, content);
  return { text, width, height };
}

function drawLegend(context, write, legend, theme, kind) {
  const ramp = makeRamp(theme, kind);
  const size = theme.size * 0.85;
  const low = size * 1.6;
  for (let i = 0; i < 64; i++) {
    const weight = (legend.top * (i + 0.5)) / 64;
    context.fillStyle = cssColour(ramp[rampIndex(weight, legend.top, legend.threshold)]);
    context.fillRect(low + i * 2.5, 0, 2.6, 12);
  }
  Object.assign(context, { strokeStyle: cssColour(theme.line), lineWidth: 1 });
  context.strokeRect(low, 0, 160, 12);
  context.font = `400 ${size}px ${theme.font}`;
  write(legend.low, low - 6 - context.measureText(legend.low).width, 11, size, theme.dim);
  write(legend.high, low + 166, 11, size, theme.dim);
}

// SVG -> PNG at twice its size; a picture too large for a canvas is made smaller.
export function svgToPng(svg) {
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => {
      const scale = Math.min(2, Math.sqrt(6e7 / (svg.width * svg.height)));
      const canvas = document.createElement("canvas");
      canvas.width = Math.round(svg.width * scale);
      canvas.height = Math.round(svg.height * scale);
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture came out"))), "image/png");
    };
    image.onerror = () => reject(new Error("the picture could not be painted"));
    image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg.text);
  });
}

// A text of a table. A token such as "=1+1" is text; a spreadsheet would compute it, or load what =HYPERLINK and =DDE
// name. Such tokens get an apostrophe in front, which most spreadsheets read as "this is text"; programs that read the
// file remove it. Numbers, such as "-0.5", stay numbers.
export function csvField(given) {
  const formula = /^[=+@\t\r\uff1d\uff0b\uff20\uff0d-]/.test(given) && !/^-?[\d.]+$/.test(given);
  const text = formula ? "'" + given : given;
  return /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
}

// One row per line, one key per column; exact numbers with 9 significant digits (all that float32 holds).
export function viewCsv(view, corner) {
  const lines = [[corner, ...view.columnLabels].map(csvField).join(",")];
  for (let r = 0; r < view.queries; r++) {
    const numbers = Array.from(view.data.subarray(r * view.keys, (r + 1) * view.keys), (value) =>
      view.exact ? String(Number(value.toPrecision(9))) : value.toFixed(3),
    );
    lines.push([csvField(view.rowLabels[r]), ...numbers].join(","));
  }
  // The byte order mark makes spreadsheets read UTF-8.
  return "\ufeff" + lines.join("\r\n") + "\r\n";
}

export function saveFile(name, content, type) {
  const blob = content instanceof Blob ? content : new Blob([content], { type });
  const address = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

export function fileStem(parts) {
  return parts.join("-").replace(/[^\w.-]+/g, "_");
}
