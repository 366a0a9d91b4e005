import { widthOfText, largestOf, LINE_HEIGHT, SMALL_TEXT } from "./sheet.js";

// Rows of numbers below each other, with every number written, in blocks of 16, 8 or 4 columns.

const MOST = 32; // columns
const WIDE = 2.9; // units that a written number needs at least (the stage prints from 2.6 on)
const WIDEST = 4.6;
const HIGH = 1.5;
const GAP = 0.15;

// rows: [{numbers, text, kind, sign, more}]; columns: the headings of the columns (null: their numbers); mark: the
// outlined column, or -1. A part as in dot.js, or null if the numbers would not be legible.
export function cellsPart(sheet, rows, columns, w, mark = -1) {
  const { unit } = sheet;
  const count = rows[0].numbers.length;
  if (count > MOST) return null;
  const beside = Math.max(...rows.map((row) => widthOfText(row.text, SMALL_TEXT * unit))) + 2.4 * unit;
  // The stage writes at most 0.3 of the width high: of 8 on a phone still 0.85 units.
  const fits = (per, width) => width / Math.min(per, count) >= (per === 8 ? 2.83 : WIDE) * unit;
  const left = fits(Math.min(8, count), w - beside) ? beside : 0;
  const per = [16, 8, 4].find((count) => fits(count, w - left));
  if (!per) return null;
  const wide = Math.min(per, count);
  const cell = Math.min(WIDEST * unit, (w - left) / wide);
  const head = 1.25 * unit;
  const row = (HIGH + GAP) * unit;
  const above = left ? 0 : SMALL_TEXT * LINE_HEIGHT * unit;
  const blocks = Math.ceil(count / per);
  const best = blocks * (head + rows.length * row) + rows.length * above + (blocks - 1) * 0.6 * unit;
  const tops = rows.map((row) => largestOf(row.numbers) || 1);
  const draw = (x, y) => {
    for (let from = 0; from < count; from += per) {
      const size = Math.min(per, count - from);
      for (let m = from; m < from + size; m++) {
        const label = columns ? columns[m] : String(m + 1);
        const marked = m === mark ? { colour: "ink", weight: 600 } : { colour: "dim" };
        const look = { size: 0.8, align: "center", ...marked };
        sheet.text(`at.${m}`, label, x + left + (m - from) * cell + 1, y, cell - 2, look);
      }
      y += head;
      rows.forEach((entry, i) => {
        const named = { size: SMALL_TEXT, colour: "dim", kind: entry.kind || "text" };
        if (!left && !from) y = sheet.text(`name.${i}`, entry.text, x, y, w, named);
        if (left && !from) {
          const shift = (HIGH - SMALL_TEXT * LINE_HEIGHT) * 0.5 * unit;
          sheet.text(`name.${i}`, entry.text, x, y + shift, left - 2.1 * unit, { ...named, align: "right" });
          const look = { align: "center", colour: "dim" };
          if (entry.sign) sheet.text(`sign.${i}`, entry.sign, x + left - 1.8 * unit, y, 1.4 * unit, look);
        }
        const chosen = mark >= from && mark < from + size ? { chosen: [0, mark - from] } : {};
        const more = { ...entry.more, top: tops[i], first: from, numbers: true, ...chosen };
        const rect = { x: x + left, y, w: size * cell, h: HIGH * unit };
        sheet.matrix(`cells.${i}.${from}`, entry.numbers.subarray(from, from + size), rect, more);
        y += row;
      });
      y += 0.6 * unit;
    }
  };
  return { least: best, best, wide: left + wide * cell, draw };
}
