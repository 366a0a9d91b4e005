import { formatCount, formatNumber } from "../format.js";
import { activate } from "../arithmetic.js";
import { widthOfText, LINE_HEIGHT, SMALL_TEXT } from "./sheet.js";

// Computations of a few numbers: one card per number with its name and description, signs between them; below it the
// row of the number, or the curve of the non-linearity. Parts are {least, best, draw} as in dot.js: two heights.

const VALUE = 1.35; // size of the number in a card
const NOTE = 0.8;
const PAD = 0.8;
const GAP = 0.6;
const SIGN = 1.7; // units for a sign in front of a card
const SMALL = { size: SMALL_TEXT, colour: "dim" };
const TALLEST = 7; // units of a strip below the cards

// cards: [{name, value (text), note, sign, go, label, hue}]; they flow into as many lines as they need.
export function cardsPart(sheet, cards, w, noted = true) {
  const { unit } = sheet;
  const sizedCards = cards.map((card) => {
    const [name, value] = [widthOfText(card.name, SMALL_TEXT * unit), widthOfText(card.value, VALUE * unit)];
    const inside = Math.max(name, value, noted && card.note ? widthOfText(card.note, NOTE * unit) : 0);
    const sign = card.sign ? SIGN * unit : 0;
    return { ...card, before: sign, wide: Math.min(w - sign, inside + 2 * PAD * unit) };
  });
  const lines = [[]];
  let used = 0;
  for (const card of sizedCards) {
    const more = card.before + card.wide + GAP * unit;
    if (lines.at(-1).length && used + more - GAP * unit > w) {
      lines.push([]);
      used = 0;
    }
    lines.at(-1).push(card);
    used += more;
  }
  const notes = noted && cards.some((card) => card.note);
  const high = (LINE_HEIGHT * (SMALL_TEXT + VALUE + (notes ? NOTE : 0)) + PAD) * unit;
  const total = lines.length * high + (lines.length - 1) * GAP * unit;
  const draw = (x0, y) => {
    let number = 0;
    for (const line of lines) {
      let x = x0;
      for (const card of line) {
        const name = `card.${number++}`;
        if (card.sign) {
          const top = y + (high - VALUE * LINE_HEIGHT * unit) / 2;
          sheet.text(`${name}.sign`, card.sign, x, top, card.before, { size: VALUE, align: "center", colour: "dim" });
        }
        x += card.before;
        const go = card.go ? { go: card.go, label: card.label || card.name } : {};
        const frame = { stroke: card.hue || "line", weight: card.hue ? 2 : 1 };
        sheet.box(name, { x, y, w: card.wide, h: high }, { fill: "panel", ...frame, ...go });
        const [left, width] = [x + PAD * 0.5 * unit, card.wide - PAD * unit];
        let top = y + (PAD / 2) * unit;
        const write = (part, text, look) =>
          (top = sheet.text(`${name}.${part}`, text, left, top, width, { align: "center", ...look }));
        write("name", card.name, { size: SMALL_TEXT, colour: "dim", kind: card.kind });
        write("value", card.value, { size: VALUE, weight: 600 });
        if (notes && card.note) write("note", card.note, { size: NOTE, colour: "dim" });
        x += card.wide + GAP * unit;
      }
      y += high + GAP * unit;
    }
  };
  return { least: total, best: total, draw };
}

// A part below a line that says what it is. gap: between them.
export function titledPart(sheet, name, title, part, { gap = 0, ...look } = /** @type {any} */ (SMALL)) {
  const head = (look.size ?? 1) * LINE_HEIGHT * sheet.unit + gap;
  const draw = (x, y, w, h) => {
    sheet.text(name, title, x, y, w, look);
    part.draw(x, y + head, w, h - head);
  };
  return { least: part.least + head, best: part.best + head, draw };
}

// A whole row of numbers with one number outlined. columns: the names of its columns, if they have names.
export function rowPart(sheet, name, numbers, { title, at, origin, pick, ramp, columns, w }) {
  const { unit } = sheet;
  const rows = sheet.stripRows(numbers.length);
  const cell = w / Math.min(64, numbers.length);
  const tall = rows === 1 ? 1.4 * unit : Math.min(cell, 1.1 * unit, (TALLEST * unit) / rows);
  const [low, high] = [Math.max(3, Math.min(cell, 0.3 * unit)), Math.max(4, tall)];
  const named = (m) =>
    columns ? columns[m] : sheet.t("number_feature", { n: formatCount(m + 1), count: formatCount(numbers.length) });
  const says = (m) => [title, named(m), formatNumber(numbers[m])];
  const more = { mark: at, origin, label: title, says, ramp, ...(pick ? { pick } : {}) };
  const draw = (x, y, wide, h) => sheet.strip(name, numbers, { x, y, w: wide }, h / rows, more);
  return titledPart(sheet, `${name}.name`, title, { least: rows * Math.min(low, high), best: rows * high, draw });
}

// The axes of a line plot on a panel at `rect`: across(value) and up(value) are positions. x, y: [from, to]; right: what
// is left free there.
export function plotPanel(sheet, name, rect, /** @type {any} */ { x: [from, to], y: [low, top], right = 0 }) {
  const pad = 0.7 * sheet.unit;
  const plot = { x: rect.x + pad, y: rect.y + pad, w: rect.w - 2 * pad - right, h: rect.h - 2 * pad };
  sheet.box(name, rect, { fill: "panel", radius: 4 });
  const across = (value) => plot.x + (plot.w * (value - from)) / (to - from);
  const up = (value) => plot.y + plot.h * (1 - (value - low) / (top - low || 1));
  return { plot, across, up };
}

// The non-linearity around the number it is applied to.
export function curvePart(sheet) {
  const { unit, computation, t, ramp } = sheet;
  const { x: input, activation, unswitched } = computation;
  const end = Math.max(3, Math.ceil(Math.abs(input) * 1.2));
  const [lowest, highest] = [-end, end].map((value) => formatNumber(value).replace(/\.0+$/, ""));
  const draw = (x, y, w, h) => {
    const low = { relu: -0.12, gelu: -0.25 / 3, swish: -0.36 / 3 }[activation] * end;
    const ranges = { x: [-end, end], y: [low, end] };
    const { plot, across, up } = plotPanel(sheet, "curve", { x, y, w: Math.min(w, h * 2.4), h }, ranges);
    const axis = { colour: "dim", weight: 1, dash: true };
    sheet.path("curve.x", [plot.x, up(0), plot.x + plot.w, up(0)], axis);
    sheet.path("curve.y", [across(0), plot.y, across(0), plot.y + plot.h], axis);
    const count = activation === "relu" ? 2 : 120;
    const values = Array.from({ length: count + 1 }, (_, i) => -end + (2 * end * i) / count);
    const points = values.flatMap((value) => [across(value), up(activate(value, activation))]);
    sheet.path("curve.line", points, { colour: ramp, weight: 2, z: 1 });
    const [px, py, dot] = [across(input), up(unswitched), 0.62 * unit];
    sheet.path("curve.down", [px, up(0), px, py], { colour: "ink", weight: 1, z: 1 });
    const at = { x: px - dot / 2, y: py - dot / 2, w: dot, h: dot };
    sheet.box("curve.at", at, { fill: ramp, stroke: "ink", radius: dot, z: 2 });
  };
  const title = t("number_curve", { low: lowest, high: highest });
  return titledPart(sheet, "curve.name", title, { least: 4 * unit, best: 11 * unit, draw });
}

// Parts below each other, with the room they want shared out.
export function stackedParts(parts, gap) {
  const sum = (name) => parts.reduce((total, part) => total + part[name], (parts.length - 1) * gap);
  return {
    least: sum("least"),
    best: sum("best"),
    draw: (x, y, w, h) => {
      const stretch = sum("best") - sum("least");
      const share = stretch > 0 ? Math.max(0, Math.min(1, (h - sum("least")) / stretch)) : 0;
      for (const part of parts) {
        const high = part.least + (part.best - part.least) * share;
        part.draw(x, y, w, high);
        y += high + gap;
      }
    },
  };
}

// -- tables ----------------------------------------------------------------------------------------------------------

const TABLE_MOST = 40; // lines; the rest is one line, "the other 12 keys"

// lines: [{cells: texts, weight: 0..1 or null, chosen, dim}], the first column left, the others right; columns: their
// names. order: lines by importance, for when not all fit; rest(kept): the line for those left out; always: write it,
// some have no line at all; foot: a last line; go(i), label(i): where line i leads; first: width of its texts in units.
export function tablePart(
  sheet,
  { title, columns, lines, order, rest, always = undefined, foot, first, go, label },
  w,
) {
  const { unit, ctx, ramp, t } = sheet;
  const small = w < 34 * unit;
  const size = small ? SMALL_TEXT : 1;
  const row = 1.42 * unit * (small ? 0.94 : 1);
  const extra = (foot ? 1 : 0) + (always ? 1 : 0) + 1;
  const most = ctx.narrow ? 24 : TABLE_MOST;
  const count = Math.min(lines.length, most);
  const around = (title ? LINE_HEIGHT * unit : 0) + 0.2 * unit;
  const high = (lineCount) => around + row * (lineCount + extra + (lineCount < lines.length && !always ? 1 : 0));
  const draw = (x, y, wide, h) => {
    const maxLines = Math.floor((h - around + 0.01) / row) - extra;
    const fits =
      maxLines >= lines.length && lines.length <= most
        ? lines.length
        : Math.max(1, Math.min(most, maxLines - (always ? 0 : 1)));
    const writtenLines = new Set(order.slice(0, fits));
    const number = (columns.length - 1) * (small ? 4 : 6) * unit;
    const used = Math.min(wide, 62 * unit);
    const named = Math.max(
      3.4 * unit,
      Math.min(first * unit * size + 0.8 * unit, used - number - (small ? 0 : 3 * unit), 16 * unit),
    );
    const column = Math.min((small ? 4.6 : 6.5) * unit, (used - named) / (columns.length - 1));
    const bar = { x: x + named + column * (columns.length - 1) + 0.8 * unit };
    bar.w = x + used - bar.x;
    if (title) y = sheet.text("table", title, x, y, wide, { weight: 600 });
    y += 0.2 * unit;
    const write = (name, cells, more) => {
      cells.forEach((text, i) => {
        if (text === "" || text === null) return;
        const at = i ? x + named + (i - 1) * column : x + 0.3 * unit;
        const align = i ? "right" : "left";
        const free = i ? column - 0.2 * unit : named - 0.4 * unit;
        sheet.text(`table.${name}.${i}`, text, at, y + (row - size * LINE_HEIGHT * unit) / 2, free, {
          size,
          align,
          ...more,
        });
      });
      y += row;
    };
    write("head", columns, { colour: "dim" });
    lines.forEach((line, i) => {
      if (!writtenLines.has(i)) return;
      const leads = go && go(i);
      const frame = line.chosen ? { fill: "panel", stroke: ramp, weight: 2, radius: 4 } : {};
      const way = leads ? { go: leads, label: label(i) } : {};
      const rect = { x, y, w: Math.min(used, wide), h: row };
      if (line.chosen || leads) sheet.box(`table.${i}.frame`, rect, { ...frame, ...way });
      if (line.weight !== null && bar.w > 2 * unit && line.weight > 0) {
        const long = Math.max(1, (bar.w - 0.4 * unit) * line.weight);
        const origin = `${sheet.computation.matrix.id}|bar|${i}|${line.weight}`;
        const at = { x: bar.x, y: y + row * 0.22, w: long, h: row * 0.56 };
        sheet.bar(`table.${i}.bar`, line.weight, at, { origin, label: "weights", top: 1, says: line.cells.join("  ") });
      }
      write(i, line.cells, { weight: line.chosen ? 600 : 400, colour: line.dim ? "dim" : "ink" });
    });
    if (always || writtenLines.size < lines.length) write("rest", rest(writtenLines), { colour: "dim" });
    if (foot) {
      sheet.path("table.rule", [x, y, x + named + column * (columns.length - 1), y], { colour: "line", weight: 1 });
      write("foot", [t("number_sum"), ...foot], { colour: "ink" });
    }
  };
  return { least: high(1), best: high(count), draw };
}
