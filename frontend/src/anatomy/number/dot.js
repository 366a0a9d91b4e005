import { formatSmall } from "../../core/format.js";
import { formatCount, formatNumber } from "../format.js";
import { largestTerms, runningSums } from "../arithmetic.js";
import { cellsPart } from "./cells.js";
import { plotPanel, stackedParts, titledPart } from "./cards.js";
import { widthOfText, LINE_HEIGHT, SMALL_TEXT } from "./sheet.js";

// How a product of a row and a column is drawn: short ones number by number, long ones as strips of colour, with the
// sum of the first terms as a line and the largest terms written out. Every part is {least, best, draw}: heights in
// pixels, and what draws it into a rectangle.

const LARGEST = 6;
const SHARE = 0.57; // of the width, for strips beside a list
const POINTS = 256; // of the line of sums

const dotFactor = (value) => (value < 0 ? `(${formatSmall(value)})` : formatSmall(value));

// Variants for a width, the best first. names: {a, b: {text, kind, ramp, origin, parent}, terms: labels of the terms
// or null}
export function dotVariants(sheet, names, w) {
  const { unit, computation, ctx } = sheet;
  const count = computation.products.length;
  const long = longVariants(sheet, names, w);
  const rows = factorsOf(sheet, names).map((factor, i) => ({ ...factor, sign: ["", "×", "="][i] }));
  const cells = cellsPart(sheet, rows, names.terms, w);
  if (!cells) return long;
  const sums = runningPart(sheet);
  const below = { ...sums, draw: (x, y, wide, h) => sums.draw(x, y, Math.min(wide, cells.wide), h) };
  return count > 4 && !ctx.narrow ? [stackedParts([cells, below], unit), cells, ...long] : [cells, ...long];
}

// What all pictures of a, b and the products share: their numbers, texts, tooltips and origins.
function factorsOf(sheet, names) {
  const { computation, t, ramp } = sheet;
  const product = { text: t("number_product"), kind: "text", ramp };
  return [names.a, names.b, product].map(({ text, kind, ramp, parent }, i) => {
    const numbers = [computation.a, computation.b, computation.products][i];
    const from = i < 2 && ((m) => computation.from(m, i === 1));
    const named = (m) => names.terms?.[m] ?? t("number_feature", { n: m + 1, count: formatCount(numbers.length) });
    const says = (m) =>
      i < 2 ? [text.replace(/[_^{}]/g, ""), named(m), formatNumber(numbers[m])] : [termText(sheet, names, m)];
    const origin = `${computation.matrix.id}|${computation.row},${computation.col}|${"abp"[i]}`;
    const leads = { ...(from && from(0) ? { pick: from } : {}), ...(parent ? { parent } : {}) };
    return { text, kind, numbers, more: { origin, label: text, ramp, says, ...leads } };
  });
}

function termText({ computation, t }, names, m) {
  const [a, b] = [computation.a[m], computation.b[m]].map(dotFactor);
  const product = formatSmall(computation.products[m]);
  return names.terms
    ? t("number_term_token", { token: names.terms[m], a, b, product })
    : t("number_term", { n: formatCount(m + 1), a, b, product });
}

// -- long products ---------------------------------------------------------------------------------------------------

// Two parts side by side; share: of the left one.
function besideParts(left, right, share, gap) {
  const draw = (x, y, wide, h) => {
    const leftWidth = Math.round(wide * share);
    left.draw(x, y, leftWidth - gap, Math.min(h, left.best));
    right.draw(x + leftWidth, y, wide - leftWidth, Math.min(h, right.best));
  };
  return { least: Math.max(left.least, right.least), best: Math.max(left.best, right.best), draw };
}

function longVariants(sheet, names, w) {
  const { unit, ctx } = sheet;
  const over = (...parts) => stackedParts(parts, unit);
  const beside = (left, right) => besideParts(left, right, SHARE, 1.5 * unit);
  const strips = (wide) => stripsPart(sheet, names, wide);
  const [six, three, one] = [LARGEST, 3, 1].map((count) => listPart(sheet, names, count));
  const sums = runningPart(sheet);
  const all = over(strips(w), sums, six);
  if (ctx.narrow) return [all];
  const left = strips(w * SHARE);
  const columns = [beside(over(left, sums), six), beside(left, six), beside(left, three)];
  const lists = [all, over(strips(w), six), over(strips(w), three), six, three, one];
  return w >= 46 * unit ? [...columns, ...lists] : lists;
}

// a, b and their products as strips of colour.
function stripsPart(sheet, names, w) {
  const { unit, computation, t, ctx } = sheet;
  const count = computation.products.length;
  const rows = sheet.stripRows(count);
  const nameHeight = SMALL_TEXT * LINE_HEIGHT * unit;
  const gap = 0.55 * unit;
  const around = 3 * nameHeight + 2 * gap;
  const cell = w / Math.min(64, count);
  const lowest = ctx.narrow ? Math.max(5, cell * 0.95) : Math.min(cell, 0.24 * unit);
  const highest = rows === 1 ? 1.6 * unit : Math.max(lowest, Math.min(cell * 1.1, 1.2 * unit));
  return {
    least: around + 3 * rows * lowest,
    best: around + 3 * rows * highest,
    draw: (x, y, wide, h) => {
      const line = (h - around) / (3 * rows);
      factorsOf(sheet, names).forEach(({ text: name, kind, numbers, more }, i) => {
        const text = ["", "× ", "= "][i] + name;
        const marks = { size: SMALL_TEXT, colour: "dim", kind };
        const note = rows > 1 && !i ? t("number_wrapped", { count: formatCount(count), wide: 64 }) : "";
        const noted = note ? widthOfText(note, SMALL_TEXT * unit) : 0;
        const both = note && widthOfText(text, SMALL_TEXT * unit) + noted + unit < wide;
        sheet.text(`name.${i}`, text, x, y, wide - (both ? noted + 0.5 * unit : 0), marks);
        if (both) sheet.text("wrapped", note, x + wide - noted, y, noted, { ...marks, kind: "text", align: "right" });
        y = sheet.strip(`strip.${i}`, numbers, { x, y: y + nameHeight, w: wide }, line, more) + gap;
      });
    },
  };
}

// The sums of the first terms as a line, from 0 to the result.
function runningPart(sheet) {
  const { unit, computation, t, ramp } = sheet;
  const { products, bias, unswitched, value } = computation;
  const count = products.length;
  const draw = (x, y, w, h) => {
    const sums = runningSums(products);
    const end = unswitched ?? value;
    const label = formatNumber(end);
    const labelWidth = widthOfText(label, SMALL_TEXT * unit) + 1.2 * unit;
    const stride = Math.max(1, Math.ceil(count / POINTS));
    const taken = Array.from({ length: Math.ceil(count / stride) }, (_, i) => i * stride).concat(count);
    const values = [...taken.map((m) => sums[m]), end, 0];
    const ranges = { x: [0, count], y: [Math.min(...values), Math.max(...values)], right: labelWidth };
    const { plot, across, up } = plotPanel(sheet, "sums", { x, y, w, h }, ranges);
    const right = plot.x + plot.w;
    sheet.path("sums.zero", [plot.x, up(0), right, up(0)], { colour: "dim", weight: 1, dash: true });
    const points = taken.flatMap((m) => [across(m), up(sums[m])]);
    if (bias !== null) points.push(right, up(end));
    sheet.path("sums.line", points, { colour: ramp, weight: 2, z: 1 });
    const dot = 0.5 * unit;
    const at = { x: right - dot / 2, y: up(end) - dot / 2, w: dot, h: dot };
    sheet.box("sums.end", at, { fill: ramp, radius: dot, z: 2 });
    const line = SMALL_TEXT * LINE_HEIGHT * unit;
    const beside = Math.max(y, Math.min(y + h - line, up(end) - line / 2));
    sheet.text("sums.value", label, right + 0.5 * unit, beside, labelWidth, { size: SMALL_TEXT, weight: 600 });
  };
  const title = t(bias === null ? "number_running" : "number_running_bias", { count: formatCount(count) });
  return titledPart(sheet, "sums.name", title, { least: 3.2 * unit, best: 7.5 * unit, draw });
}

// The largest terms, the others together and the bias, each with a bar as long as its share.
function listPart(sheet, names, most) {
  const { unit, computation, t } = sheet;
  const { products, bias } = computation;
  const largest = largestTerms(products, Math.min(most, products.length));
  const rest = products.length - largest.length;
  const othersSum = rest ? computation.sum - largest.reduce((sum, m) => sum + products[m], 0) : 0;
  const row = LINE_HEIGHT * unit;
  const high = row * (largest.length + (rest ? 1 : 0) + (bias === null ? 0 : 1));
  const draw = (x, y, w) => {
    const bars = Math.min(4 * unit, w * 0.14);
    const free = w - bars - 0.6 * unit;
    const scale = Math.max(Math.abs(othersSum), Math.abs(bias || 0), ...largest.map((m) => Math.abs(products[m]))) || 1;
    const widest = Math.max(...largest.map((m) => widthOfText(termText(sheet, names, m), unit)));
    const size = Math.max(SMALL_TEXT, Math.min(1, free / widest));
    const line = (name, value, text, more) => {
      const long = Math.max(2, (bars * Math.abs(value)) / scale);
      const origin = `${computation.matrix.id}|${computation.row},${computation.col}|${name}`;
      const rect = { x: x + bars - long, y: y + row * 0.2, w: long, h: row * 0.6 };
      sheet.bar(`bar.${name}`, value, rect, { origin, label: text, top: scale, says: text });
      sheet.text(`term.${name}`, text, x + bars + 0.6 * unit, y + ((1 - size) * row) / 2, free, { size, ...more });
      y += row;
    };
    largest.forEach((m, i) => {
      const go = computation.from(m);
      const label = names.terms
        ? t("number_term_token_go", { token: names.terms[m] })
        : t("number_term_go", { n: formatCount(m + 1) });
      line(i, products[m], termText(sheet, names, m), go ? { go, label } : {});
    });
    const more = { colour: "dim" };
    const about = { count: formatCount(rest), sum: formatNumber(othersSum) };
    if (rest) line("others", othersSum, t(rest === 1 ? "number_other" : "number_others", about), more);
    if (bias !== null) line("bias", bias, t("number_bias", { value: formatNumber(bias) }), more);
  };
  const title = t(rest ? "number_largest" : "number_all_terms");
  return titledPart(sheet, "list", title, { least: high, best: high, draw }, { weight: 600, gap: 0.3 * unit });
}
