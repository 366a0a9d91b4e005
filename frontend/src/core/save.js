import { makeRamp, rampIndex, cssColour } from "./colour.js";
import { SAVED_FONT, SvgContext, escape, tag } from "./svg_context.js";

// Saved files: a picture as SVG, from which the PNG is made, and its numbers as CSV. The code that draws heads on the
// screen also draws them here; text stays text.

const PAGE_MARGIN = 24;
const WIDEST_CAPTION = 640; // pixels of a caption above a narrower picture
const LINE = 1.35; // of the caption, in heights of its letters
const LONGEST_NAME = 140; // letters of a file name

export function svgContext() {
  return new SvgContext(document.createElement("canvas").getContext("2d"));
}

// A text with spaces in lines of at most `width`; context: has the font.
export function wrapText(context, text, width) {
  const lines = [];
  for (const word of text.split(" ")) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && context.measureText(longer).width <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

// The file of a picture: its markup under a caption, a text or several, which says what it shows and what was done to
// the numbers. title: for readers of the file, by default the first text.
export function svgFile({ theme, caption, title = "", markup, width, height }) {
  const context = svgContext();
  const size = theme.size * 1.1;
  Object.assign(context, { font: `400 ${size}px ${SAVED_FONT}`, fillStyle: cssColour(theme.ink) });
  const texts = [caption].flat();
  const longest = Math.max(0, ...texts.map((text) => context.measureText(text).width));
  const wide = Math.max(width, Math.min(longest, WIDEST_CAPTION));
  const lines = texts.flatMap((text) => wrapText(context, text, wide));
  lines.forEach((line, i) => context.fillText(line, PAGE_MARGIN, PAGE_MARGIN + size * (1 + LINE * i)));
  const top = Math.ceil(PAGE_MARGIN + size * LINE * lines.length + theme.size);
  const across = Math.max(wide, ...lines.map((line) => context.measureText(line).width)); // a long word
  const whole = { width: Math.ceil(across + 2 * PAGE_MARGIN), height: Math.ceil(top + height + PAGE_MARGIN) };
  const viewBox = `0 0 ${whole.width} ${whole.height}`;
  const root = { xmlns: "http://www.w3.org/2000/svg", viewBox, "font-family": SAVED_FONT, ...whole };
  const page = tag("rect", { ...whole, fill: cssColour(theme.background) });
  const picture = tag("g", { transform: `translate(${PAGE_MARGIN} ${top})` }, markup);
  const content = tag("title", {}, escape(title || texts[0])) + page + context.markup + picture;
  return { text: '<?xml version="1.0" encoding="UTF-8"?>\n' + tag("svg", root, content), ...whole };
}

// Writes a text; returns its width.
export function writeText(context, text, x, y, size, colour, weight = 400) {
  Object.assign(context, { font: `${weight} ${size}px ${SAVED_FONT}`, fillStyle: cssColour(colour) });
  Object.assign(context, { textAlign: "left", textBaseline: "alphabetic" });
  context.fillText(text, x, y);
  return context.measureText(text).width;
}

export function drawAt(context, x, y, draw) {
  context.save();
  context.translate(x, y);
  draw();
  context.restore();
}

// picture: {theme, caption, panels: [{grid, plot, gridTitle, title, subtitle, legend}], first}; plot is a HeadPlot or a
// LinesPlot, grid is null for a head alone; first: pictures in a column left of the panels, {markup, width, height}.
export function pictureSvg({ theme, caption, panels, first = [] }) {
  const context = svgContext();
  const base = theme.size;
  const beside = panels.length === 1;
  let width = 0;
  let height = 0;
  let x = 0;
  for (const { markup, ...size } of first) {
    context.add(tag("g", { transform: `translate(0 ${height})` }, markup));
    x = Math.max(x, size.width + 36);
    height += Math.ceil(size.height + base);
  }
  for (const { grid, plot, gridTitle, title, subtitle, legend } of panels) {
    let y = base;
    const right = grid && beside ? x + grid.width + 36 : x;
    let gridBottom = 0;
    if (grid) {
      writeText(context, gridTitle, x, y, base, theme.ink, 600);
      drawAt(context, x, y + base * 0.8, () => grid.drawOn(context));
      gridBottom = y + base * 0.8 + grid.height;
      if (!beside) y = gridBottom + base * 2;
    }
    writeText(context, title, right, y, base, theme.ink, 600);
    const wide = writeText(context, subtitle, right, y + base * 1.35, base * 0.85, theme.dim);
    const plotTop = y + base * 2;
    drawAt(context, right, plotTop, () => plot.drawOn(context));
    const legendTop = plotTop + plot.height + base;
    drawAt(context, right, legendTop, () => drawLegend(context, legend, theme, plot.kind));
    width = Math.max(right + Math.max(plot.width, wide), x + (grid ? grid.width : 0));
    x = width + 30;
    height = Math.max(height, gridBottom, legendTop + base * 1.4);
  }
  return svgFile({ theme, caption, markup: context.markup, width, height });
}

function drawLegend(context, legend, theme, kind) {
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
  context.font = `400 ${size}px ${SAVED_FONT}`;
  writeText(context, legend.low, low - 6 - context.measureText(legend.low).width, 11, size, theme.dim);
  writeText(context, legend.high, low + 166, 11, size, theme.dim);
}

// SVG -> PNG at twice its size; a picture too large for a canvas is made smaller.
export async function svgToPng(svg) {
  const style = tag("style", {}, await (pageFaces ??= readFaces()));
  const image = new Image();
  const text = svg.text.replace("<title>", () => style + "<title>");
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(text);
  await image.decode();
  const scale = Math.min(2, Math.sqrt(6e7 / (svg.width * svg.height)));
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(svg.width * scale);
  canvas.height = Math.round(svg.height * scale);
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve, reject) =>
    canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture came out"))), "image/png"),
  );
}

let pageFaces = null;

// The page's faces of SAVED_FONT as CSS that holds their files: an SVG that is drawn as an image sees no font of the page.
async function readFaces() {
  const rules = [...document.styleSheets].flatMap(rulesOf);
  const isOurs = (rule) =>
    SAVED_FONT.startsWith(`"${rule.style.getPropertyValue("font-family").replace(/["']/g, "")}"`);
  const faces = rules.filter((rule) => rule instanceof CSSFontFaceRule && isOurs(rule));
  const missing = () => ""; // then the picture has another font
  return (await Promise.all(faces.map((face) => withFile(face).catch(missing)))).join("");
}

function rulesOf(sheet) {
  try {
    return [...sheet.cssRules];
  } catch {
    return []; // of another origin
  }
}

async function withFile(face) {
  const [, address] = /url\(["']?([^"')]+)/.exec(face.style.getPropertyValue("src"));
  const file = await fetch(new URL(address, face.parentStyleSheet.href ?? document.baseURI));
  const held = await dataAddress(await file.blob());
  return face.cssText.replace(address, () => held);
}

// A data: address with the bytes, which browsers build far faster than JavaScript could.
/** @param {Blob} blob @returns {Promise<string>} */
export function dataAddress(blob) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(String(reader.result)));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(blob);
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

// Lists of texts and numbers, the headings first; numbers have 9 significant digits, all that float32 holds.
export function csvText(rows) {
  const field = (value) => (typeof value === "number" ? numberText(value) : csvField(String(value ?? "")));
  // The byte order mark makes spreadsheets read UTF-8.
  return "\ufeff" + rows.map((row) => row.map(field).join(",")).join("\r\n") + "\r\n";
}

function numberText(value) {
  if (Number.isNaN(value)) return "";
  return Number.isFinite(value) ? String(Number(value.toPrecision(9))) : value < 0 ? "-inf" : "inf";
}

// One row per line, one key per column.
export function viewCsv(view, corner) {
  const rows = view.rowLabels.slice(0, view.queries).map((label, r) => {
    const numbers = Array.from(view.data.subarray(r * view.keys, (r + 1) * view.keys));
    return [label, ...numbers.map((value) => (view.exact ? value : Number(value.toFixed(3))))];
  });
  return csvText([[corner, ...view.columnLabels], ...rows]);
}

// One file of a picture. make: {svg: returns {text, width, height} or a promise of it, csv: returns a text}.
export async function savePicture(stem, format, make) {
  if (format === "csv") return saveFile(`${stem}.csv`, make.csv(), "text/csv;charset=utf-8");
  const svg = await make.svg();
  if (!svg) return undefined;
  if (format === "svg") return saveFile(`${stem}.svg`, svg.text, "image/svg+xml");
  return saveFile(`${stem}.png`, await svgToPng(svg));
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

// A name that every system takes: letters, digits, "-", "_" and "." between the parts.
export function fileStem(parts) {
  const name = parts.join("-").replace(/[^\w.-]+/g, "_");
  return name.slice(0, LONGEST_NAME).replace(/[._-]+$/, "");
}
