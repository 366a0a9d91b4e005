import { formatSmall } from "../../core/format.js";
import { formatCount, formatNumber } from "../format.js";
import { largestTerms, runningSums } from "../arithmetic.js";
import { cellsPart } from "./cells.js";
import { widthOfText, LINE_HEIGHT, SMALL_TEXT } from "./sheet.js";

// How a product of a row and a column is drawn: short ones number by number, long ones as strips of colour, with the
// sum of the first terms as a line and the largest terms written out. Every part is {least, best, draw}: heights in
// pixels, and what draws it into a rectangle.

const LARGEST = 6;
const POINTS = 256; // of the line of sums

const dotFactor = (value) => (value < 0 ? `(${formatSmall(value)})` : formatSmall(value));

// Variants for a width, the best first. names: {a, b: {text, kind, ramp, origin, parent}, terms: labels of the terms
// or null}
export function dotVariants(sheet, names, w) {
  const { unit, computation, ctx } = sheet;
  const count = computation.products.length;
  const long = longVariants(sheet, names, w);
  const texts = [names.a, names.b, { text: sheet.t("number_product") }];
  const numbers = [computation.a, computation.b, computation.products];
  const rows = texts.map((text, i) => ({
    ...text,
    numbers: numbers[i],
    sign: ["", "×", "="][i],
    more: operand(sheet, names, i),
  }));
  const cells = cellsPart(sheet, rows, names.terms, w);
  if (!cells) return long;
  const sums = runningPart(sheet);
  const gap = unit;
  const both = {
    least: cells.best + gap + sums.least,
    best: cells.best + gap + sums.best,
    draw: (x, y, wide, h) => {
      cells.draw(x, y);
      sums.draw(x, y + cells.best + gap, Math.min(wide, cells.wide), h - cells.best - gap);
    },
  };
  return count > 4 && !ctx.narrow ? [both, cells, ...long] : [cells, ...long];
}

// What all pictures of a, b and the products share: the tokens of their numbers, their texts and their origin.
function operand(sheet, names, i) {
  const { computation, t } = sheet;
  const factor = [names.a, names.b, { text: t("number_product"), ramp: sheet.ramp }][i];
  const numbers = [computation.a, computation.b, computation.products][i];
  const from = i < 2 && ((m) => computation.from(m, i === 1));
  const leads = from && from(0);
  const says = (m) => [
    factor.text.replace(/[_^{}]/g, ""),
    names.terms ? names.terms[m] : t("number_feature", { n: m + 1, count: formatCount(numbers.length) }),
    formatNumber(numbers[m]),
  ];
  return {
    origin: `${computation.matrix.id}|${computation.row},${computation.col}|${"abp"[i]}`,
    label: factor.text,
    ramp: factor.ramp,
    says: i === 2 ? (m) => [termText(sheet, names, m)] : says,
    ...(leads ? { pick: from } : {}),
    ...(factor.parent ? { parent: factor.parent } : {}),
    outline: "thin",
  };
}

function termText({ computation, t }, names, m) {
  const [a, b] = [computation.a[m], computation.b[m]].map(dotFactor);
  const product = formatSmall(computation.products[m]);
  return names.terms
    ? t("number_term_token", { token: names.terms[m], a, b, product })
    : t("number_term", { n: formatCount(m + 1), a, b, product });
}

// -- long products ---------------------------------------------------------------------------------------------------

function longVariants(sheet, names, w) {
  const { unit, ctx } = sheet;
  const gap = unit;
  const over = (parts) => ({
    least: parts.reduce((sum, part) => sum + part.least, (parts.length - 1) * gap),
    best: parts.reduce((sum, part) => sum + part.best, (parts.length - 1) * gap),
    draw: (x, y, wide, h) => {
      const least = parts.reduce((sum, part) => sum + part.least, (parts.length - 1) * gap);
      const stretch = parts.reduce((sum, part) => sum + part.best - part.least, 0);
      const share = stretch ? Math.max(0, Math.min(1, (h - least) / stretch)) : 0;
      for (const part of parts) {
        const high = part.least + (part.best - part.least) * share;
        part.draw(x, y, wide, high);
        y += high + gap;
      }
    },
  });
  const beside = (left, right, share) => {
    const leftWidth = (wide) => Math.round(wide * share);
    return {
      least: Math.max(left.least, right.least),
      best: Math.max(left.best, right.best),
      draw: (x, y, wide, h) => {
        left.draw(x, y, leftWidth(wide) - 1.5 * unit, Math.min(h, left.best));
        right.draw(x + leftWidth(wide), y, wide - leftWidth(wide), Math.min(h, right.best));
      },
    };
  };
  const strips = (wide) => stripsPart(sheet, names, wide);
  const list = (count) => listPart(sheet, names, count);
  const sums = runningPart(sheet);
  if (ctx.narrow) return [over([strips(w), sums, list(LARGEST)])];
  const columns = w >= 46 * unit;
  const lists = [];
  if (columns) {
    const wide = w * 0.57;
    lists.push(beside(over([strips(wide), sums]), list(LARGEST), 0.57));
    lists.push(beside(strips(wide), list(LARGEST), 0.57), beside(strips(wide), list(3), 0.57));
  }
  lists.push(over([strips(w), sums, list(LARGEST)]), over([strips(w), list(LARGEST)]), over([strips(w), list(3)]));
  return [...lists, list(LARGEST), list(3), list(1)];
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
      [names.a, names.b, { text: t("number_product"), kind: "text" }].forEach((name, i) => {
        const text = ["", "× ", "= "][i] + name.text;
        const marks = { size: SMALL_TEXT, colour: "dim", kind: name.kind };
        const note = rows > 1 && !i ? t("number_wrapped", { count: formatCount(count), wide: 64 }) : "";
        const noted = note ? widthOfText(note, SMALL_TEXT * unit) : 0;
        const both = note && widthOfText(text, SMALL_TEXT * unit) + noted + unit < wide;
        sheet.text(`name.${i}`, text, x, y, wide - (both ? noted + 0.5 * unit : 0), marks);
        if (both) sheet.text("wrapped", note, x + wide - noted, y, noted, { ...marks, kind: "text", align: "right" });
        y =
          sheet.strip(
            `strip.${i}`,
            [computation.a, computation.b, computation.products][i],
            x,
            y + nameHeight,
            wide,
            line,
            operand(sheet, names, i),
          ) + gap;
      });
    },
  };
}

// The sums of the first terms as a line, from 0 to the result.
function runningPart(sheet) {
  const { unit, computation, t, ramp } = sheet;
  const nameHeight = SMALL_TEXT * LINE_HEIGHT * unit;
  return {
    least: nameHeight + 3.2 * unit,
    best: nameHeight + 7.5 * unit,
    draw: (x, y, w, h) => {
      const sums = runningSums(computation.products);
      const count = computation.products.length;
      const title = t(computation.bias === null ? "number_running" : "number_running_bias", {
        count: formatCount(count),
      });
      y = sheet.text("sums.name", title, x, y, w, { size: SMALL_TEXT, colour: "dim" });
      const high = h - nameHeight;
      const end = computation.free ?? computation.value;
      const label = formatNumber(end);
      const labelWidth = widthOfText(label, SMALL_TEXT * unit) + 1.2 * unit;
      sheet.box("sums", x, y, w, high, { fill: "panel", radius: 4 });
      const stride = Math.max(1, Math.ceil(count / POINTS));
      const taken = [];
      for (let m = 0; m < count; m += stride) taken.push(m);
      taken.push(count);
      const values = [...taken.map((m) => sums[m]), end];
      const [low, top] = [Math.min(0, ...values), Math.max(0, ...values)];
      const pad = 0.7 * unit;
      const plot = { x: x + pad, w: w - 2 * pad - labelWidth, y: y + pad, h: high - 2 * pad };
      const up = (value) => plot.y + plot.h * (1 - (value - low) / (top - low || 1));
      const across = (m) => plot.x + (plot.w * m) / count;
      sheet.line("sums.zero", [plot.x, up(0), plot.x + plot.w, up(0)], { colour: "dim", weight: 1, dash: true });
      const points = taken.flatMap((m) => [across(m), up(sums[m])]);
      if (computation.bias !== null) points.push(plot.x + plot.w, up(end));
      sheet.line("sums.line", points, { colour: ramp, weight: 2, z: 1 });
      const dot = 0.5 * unit;
      sheet.box("sums.end", plot.x + plot.w - dot / 2, up(end) - dot / 2, dot, dot, { fill: ramp, radius: dot, z: 2 });
      const line = SMALL_TEXT * LINE_HEIGHT * unit;
      const at = Math.max(y, Math.min(y + high - line, up(end) - line / 2));
      sheet.text("sums.value", label, plot.x + plot.w + 0.5 * unit, at, labelWidth, { size: SMALL_TEXT, weight: 600 });
    },
  };
}

// The largest terms, the others together and the bias, each with a bar as long as its share.
function listPart(sheet, names, most) {
  const { unit, computation, t } = sheet;
  const { products, bias } = computation;
  const largest = largestTerms(products, Math.min(most, products.length));
  const rest = products.length - largest.length;
  const othersSum = rest ? computation.sum - largest.reduce((sum, m) => sum + products[m], 0) : 0;
  const row = LINE_HEIGHT * unit;
  const high = row * (1 + largest.length + (rest ? 1 : 0) + (bias === null ? 0 : 1)) + 0.3 * unit;
  const draw = (x, y, w) => {
    const title = t(rest ? "number_largest" : "number_all_terms");
    y = sheet.text("list", title, x, y, w, { weight: 600 }) + 0.3 * unit;
    const bars = Math.min(4 * unit, w * 0.14);
    const free = w - bars - 0.6 * unit;
    const scale = Math.max(Math.abs(othersSum), Math.abs(bias || 0), ...largest.map((m) => Math.abs(products[m]))) || 1;
    const size = Math.max(
      SMALL_TEXT,
      Math.min(1, ...largest.map((m) => free / widthOfText(termText(sheet, names, m), unit))),
    );
    const line = (name, value, text, more) => {
      const long = Math.max(2, (bars * Math.abs(value)) / scale);
      const origin = `${computation.matrix.id}|${computation.row},${computation.col}|${name}`;
      sheet.matrix(`bar.${name}`, Float64Array.of(value), 1, 1, x + bars - long, y + row * 0.2, long, row * 0.6, {
        origin,
        label: text,
        top: scale,
        outline: null,
        says: () => [text],
      });
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
    const sum = formatNumber(othersSum);
    if (rest)
      line(
        "others",
        othersSum,
        rest === 1 ? t("number_other", { sum }) : t("number_others", { count: formatCount(rest), sum }),
        more,
      );
    if (bias !== null) line("bias", bias, t("number_bias", { value: formatNumber(bias) }), more);
  };
  return { least: high, best: high, draw };
}
