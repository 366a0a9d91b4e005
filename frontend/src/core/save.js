import { svgEl, shorten } from "./dom.js";
import { makeRamp, rampIndex, cssColour } from "./colour.js";

// The picture as SVG, from which the PNG is made, and the head's numbers as CSV. Everything is built as DOM nodes and
// serialised: text stays text.

const PAGE_MARGIN = 24;

function svgText(text, x, y, size, fill, extra) {
  return svgEl("text", { x: x.toFixed(1), y: y.toFixed(1), "font-size": size.toFixed(1), fill, ...extra }, text);
}

// picture: {theme, caption, panels: [{grid, plot, title, subtitle, legend}]}; plot is a HeadPlot or a LinesPlot.
export function pictureSvg(picture) {
  const { theme, panels } = picture;
  const ink = cssColour(theme.ink);
  const dim = cssColour(theme.dim);
  const base = theme.size;
  const root = svgEl("svg", { "font-family": theme.font });
  const beside = panels.length === 1;
  let width = 0;
  let height = 0;
  const parts = [];
  let x = PAGE_MARGIN;
  for (const panel of panels) {
    const group = svgEl("g", {});
    let y = PAGE_MARGIN + base * 3.4;
    const right = beside ? x + panel.grid.width + 36 : x;
    group.append(svgText(panel.gridTitle, x, y, base, ink, { "font-weight": "600" }));
    group.append(gridSvg(panel.grid, x, y + base * 0.8));
    const gridBottom = y + base * 0.8 + panel.grid.height;
    if (!beside) y = gridBottom + base * 2;
    group.append(svgText(panel.title, right, y, base, ink, { "font-weight": "600" }));
    group.append(svgText(panel.subtitle, right, y + base * 1.35, base * 0.85, dim));
    const plotTop = y + base * 2;
    group.append(panel.plot.svg ? linesSvg(panel.plot, right, plotTop) : headSvg(panel.plot, right, plotTop));
    const legendTop = plotTop + panel.plot.height + base;
    group.append(legendSvg(panel, theme, right, legendTop, dim));
    const measure = document.createElement("canvas").getContext("2d");
    measure.font = `${base * 0.85}px ${theme.font}`;
    const wide = Math.max(panel.plot.width, measure.measureText(panel.subtitle).width);
    x = Math.max(right + wide, x + panel.grid.width) + 30;
    width = Math.max(width, x);
    height = Math.max(height, gridBottom, legendTop + base * 1.4);
    parts.push(group);
  }
  width = Math.ceil(width);
  height = Math.ceil(height + PAGE_MARGIN);
  root.setAttribute("width", width);
  root.setAttribute("height", height);
  root.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const measure = document.createElement("canvas").getContext("2d");
  measure.font = `${base * 1.1}px ${theme.font}`;
  root.append(
    svgEl("title", {}, picture.caption),
    svgEl("rect", { width, height, fill: cssColour(theme.background) }),
    svgText(
      shorten(measure, picture.caption, width - 2 * PAGE_MARGIN),
      PAGE_MARGIN,
      PAGE_MARGIN + base,
      base * 1.1,
      ink,
    ),
    ...parts,
  );
  return {
    text: '<?xml version="1.0" encoding="UTF-8"?>\n' + new XMLSerializer().serializeToString(root),
    width,
    height,
  };
}

// The tiles as they are painted on the canvas, as vectors.
function gridSvg(grid, x, y) {
  const group = svgEl("g", { transform: `translate(${x} ${y})` });
  const { theme, place } = grid;
  const mosaic = grid.mosaic.getContext("2d");
  const chosen = grid.rectOf(grid.chosen());
  for (const r of grid.rects) {
    const box = { x: r.x, y: r.y, width: r.w, height: r.h };
    group.append(tileSvg(mosaic.getImageData(r.sx, r.sy, r.pw, r.ph), r));
    group.append(
      svgEl("rect", {
        ...box,
        fill: "none",
        stroke: cssColour(r === chosen ? theme.ink : theme.line),
        "stroke-width": r === chosen ? 3 : 1,
      }),
    );
    const fill = cssColour(theme.dim);
    if (r.layer === 0) {
      group.append(
        svgText(grid.shortHead(r.head), r.x + r.w / 2, place.top - 6, 12 * place.unit, fill, {
          "text-anchor": "middle",
        }),
      );
    }
    if (r.head === 0) {
      group.append(
        svgText(grid.shortLayer(r.layer), place.left - 7, r.y + r.h / 2 + 4, 12 * place.unit, fill, {
          "text-anchor": "end",
        }),
      );
    }
  }
  return group;
}

// One path for each colour of a tile, made of the runs of cells that have it in a row.
function tileSvg(image, { x, y, w, h }) {
  const scale = `translate(${x} ${y}) scale(${w / image.width} ${h / image.height})`;
  const group = svgEl("g", { transform: scale, "shape-rendering": "crispEdges" });
  for (const [fill, path] of runsByColour(image)) group.append(svgEl("path", { fill, d: path }));
  return group;
}

// image: {data, width, height} as of getImageData. Returns colour -> path of rectangles one pixel high.
export function runsByColour({ data, width, height }) {
  const pixels = new Uint32Array(data.buffer, data.byteOffset, width * height);
  const paths = new Map();
  for (let row = 0; row < height; row++) {
    for (let from = 0, to; from < width; from = to) {
      const pixel = pixels[row * width + from];
      for (to = from + 1; to < width && pixels[row * width + to] === pixel;) to++;
      const colour = cssColour([pixel & 255, (pixel >> 8) & 255, (pixel >> 16) & 255]);
      paths.set(colour, `${paths.get(colour) ?? ""}M${from} ${row}h${to - from}v1h${from - to}z`);
    }
  }
  return paths;
}

function headSvg(head, x, y) {
  const group = svgEl("g", { transform: `translate(${x} ${y})` });
  const { view, theme, plot, options } = head;
  const ramp = head.palette().map((rgb) => cssColour(rgb));
  const gap = Math.min(plot.cw, plot.ch) >= 7 ? 1 : 0;
  const ink = cssColour(theme.ink);
  for (let r = 0; r < view.queries; r++) {
    for (let c = 0; c < view.keys; c++) {
      const at = r * view.keys + c;
      const masked = view.mask && view.mask[at];
      const index = masked ? 0 : head.shadeOf(view.data[at]);
      if (!index && !masked) continue;
      group.append(
        svgEl("rect", {
          x: (plot.left + c * plot.cw).toFixed(2),
          y: (plot.top + r * plot.ch).toFixed(2),
          width: (plot.cw - gap).toFixed(2),
          height: (plot.ch - gap).toFixed(2),
          fill: masked ? cssColour(theme.masked) : ramp[index],
        }),
      );
    }
  }
  group.append(
    svgEl("rect", {
      x: plot.left - 0.5,
      y: plot.top - 0.5,
      width: (view.keys * plot.cw).toFixed(2),
      height: (view.queries * plot.ch).toFixed(2),
      fill: "none",
      stroke: cssColour(theme.line),
    }),
  );
  for (let r = 0; r < view.queries; r += plot.rowStep) {
    group.append(
      svgText(view.rowLabels[r], plot.left - 8, plot.top + (r + 0.5) * plot.ch + plot.size * 0.35, plot.size, ink, {
        "text-anchor": "end",
      }),
    );
  }
  for (let c = 0; c < view.keys; c += plot.columnStep) {
    const at = [plot.left + (c + 0.5) * plot.cw, plot.top - 8 * plot.unit];
    const turn = plot.angle
      ? { transform: `rotate(${(-plot.angle * 180) / Math.PI} ${at[0].toFixed(1)} ${at[1].toFixed(1)})` }
      : {};
    group.append(
      svgText(view.columnLabels[c], at[0], at[1], plot.columnSize, ink, {
        "text-anchor": plot.angle ? "start" : "middle",
        ...(plot.angle ? { dy: (plot.columnSize * 0.3).toFixed(1) } : {}),
        ...turn,
      }),
    );
  }
  const small = { "text-anchor": "end" };
  group.append(
    svgText(
      head.hooks.axis(view.sides.columns, "column"),
      plot.left - 8,
      plot.top - 24 * plot.unit,
      12 * plot.unit,
      cssColour(theme.dim),
      small,
    ),
  );
  group.append(
    svgText(
      head.hooks.axis(view.sides.rows, "row"),
      plot.left - 8,
      plot.top - 7 * plot.unit,
      12 * plot.unit,
      cssColour(theme.dim),
      small,
    ),
  );
  if (options.cell) {
    group.append(
      svgEl("rect", {
        x: plot.left + options.cell[1] * plot.cw - 1,
        y: plot.top + options.cell[0] * plot.ch - 1,
        width: plot.cw + 1,
        height: plot.ch + 1,
        fill: "none",
        stroke: ink,
        "stroke-width": 2.5,
      }),
    );
  }
  return group;
}

function linesSvg(plot, x, y) {
  const copy = plot.svg.cloneNode(true);
  for (const name of ["class", "data-testid", "data-plot", "style"]) copy.removeAttribute(name);
  copy.setAttribute("x", x);
  copy.setAttribute("y", y);
  return copy;
}

function legendSvg(panel, theme, x, y, dim) {
  const { legend, plot } = panel;
  const group = svgEl("g", { transform: `translate(${x} ${y})` });
  const ramp = makeRamp(theme, plot.kind);
  const size = theme.size * 0.85;
  const low = size * 1.6;
  for (let i = 0; i < 64; i++) {
    const weight = (legend.top * (i + 0.5)) / 64;
    group.append(
      svgEl("rect", {
        x: (low + i * 2.5).toFixed(1),
        y: 0,
        width: 2.6,
        height: 12,
        fill: cssColour(ramp[rampIndex(weight, legend.top, legend.threshold)]),
      }),
    );
  }
  group.append(svgEl("rect", { x: low, y: 0, width: 160, height: 12, fill: "none", stroke: cssColour(theme.line) }));
  group.append(
    svgText(legend.low, low - 6, 11, size, dim, { "text-anchor": "end" }),
    svgText(legend.high, low + 166, 11, size, dim),
  );
  return group;
}

// SVG -> PNG at twice its size; a picture too large for a canvas is made smaller instead of failing.
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

// A text of a table. A token such as "=1+1" is text; a spreadsheet would compute it, or fetch what =HYPERLINK and =DDE
// name. Those who open one get an apostrophe before it, which most spreadsheets take for "this is text"; those who read
// the file with a program strip one. Numbers, "-0.5" among them, stay numbers.
export function csvField(given) {
  const formula = /^[=+@\t\r\uff1d\uff0b\uff20\uff0d-]/.test(given) && !/^-?[\d.]+$/.test(given);
  const text = formula ? "'" + given : given;
  return /[",\r\n]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
}

// One line a row, one column a key; exact numbers with 9 significant digits (all that float32 holds).
export function viewCsv(view, corner) {
  const lines = [[corner, ...view.columnLabels].map(csvField).join(",")];
  for (let r = 0; r < view.queries; r++) {
    const numbers = Array.from(view.data.subarray(r * view.keys, (r + 1) * view.keys), (value) =>
      view.exact ? String(Number(value.toPrecision(9))) : value.toFixed(3),
    );
    lines.push([csvField(view.rowLabels[r]), ...numbers].join(","));
  }
  // The mark at the start makes spreadsheets read UTF-8.
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
