import { NAME_SIZE, insideOf, labelRoom, rimOf, rowRects, sideBySide } from "../stage/sheet.js";
import { clamp } from "../stage/measure.js";

// Sizes of the output board, in pixels, that all of its steps share.

const LEAST = 46; // units of width from which the decoder's output stands left of the words
const LANE = 1.1; // units around the whole for the way back
const NOTE = 1.6; // units for the last line
const SLOT = { small: 1.5, wide: 1.95, least: 0.92 }; // units of height of a word's line
const PICTURE = { most: 10, small: 7, least: 4 }; // units of height of the histogram with its title and axis

export function outputPlan(ctx) {
  const { data, state, unit, area } = ctx;
  const { d_model: d, output_size: vocab, tied_output: tied, output_bias: biased } = data.config;
  const labels = data.labels("target_in");
  const t = state.t;
  const small = ctx.narrow || area.w < LEAST * unit;
  const inside = insideOf(ctx);
  const label = labelRoom(
    [...labels, ...data.labels("target_out")],
    unit,
    small ? Math.min(5.2 * unit, inside.w * 0.2) : 7 * unit,
  );
  const ids = data.outputs.ids[t];
  const words = data.outputs.labels[t];
  const sizes = { d, vocab, m: labels.length, many: ids.length };
  const named = { table_name: tied ? "E" : "W", biased };
  /** @type {any} */
  const plan = { ctx, unit, inside, labels, small, label, ids, words, t, ...sizes, ...named };
  const chosen = data.outputs.chosen[t];
  plan.chosen = {
    id: chosen,
    rank: data.outputs.chosen_rank[t],
    at: ids.indexOf(chosen),
    word: data.labels("target_out")[t],
  };
  plan.slots = plan.many + 2;
  return { ...plan, ...borderOf(plan), ...(small ? narrowPlan(plan) : widePlan(plan)) };
}

// Heights of a word's line and of the picture of all logits, in the height left for both.
function heightsOf({ unit, slots }, free, wantedHeight) {
  const picture = clamp(free - slots * wantedHeight, PICTURE.least * unit, PICTURE.most * unit);
  const slot = Math.min(wantedHeight, (free - picture) / slots);
  // The words come first: without height for both, the picture is left out.
  return slot < SLOT.least * unit ? { picture: 0, slot: Math.min(wantedHeight, free / slots) } : { picture, slot };
}

function widePlan(plan) {
  const { unit, inside, label, m, slots, many } = plan;
  const roomy = inside.w > 56 * unit;
  const [gap, table, lines, word, number] = (roomy ? [3, 4, 3.4, 6.6, 4.4] : [2.4, 3.8, 3.4, 5.4, 4.4]).map(
    (size) => size * unit,
  );
  const { left, right, top, foot } = borderOf(plan);
  const free = right - left - label - gap - table - lines - word - number - 2.6 * unit;
  const [wide, real] = [Math.min(free * 0.27, 20 * unit), Math.min(free * 0.3, 22 * unit)];
  const strip = 1.5 * unit;
  const fixed = strip + (NAME_SIZE + 0.5) * unit;
  const { picture, slot } = heightsOf(plan, foot - top - fixed, SLOT.wide * unit);
  const down = top + Math.max(0, (foot - top - fixed - slot * slots - picture) / 2);
  const row = Math.min(2 * unit, (foot - down - 1.3 * unit) / m);
  const widths = { tokens: label, hidden: wide, gap, table, lines, strip: real, rows: real, word, number };
  const upperLine = { x: left, y: down, h: row * m, unit };
  const upper = sideBySide(upperLine, "tokens 0.6 hidden gap table lines strip", widths);
  const start = upper.hidden.x + wide + gap;
  const bars = right - start - table - lines - real - word - number - 1.8 * unit;
  const lowerLine = { x: start, y: down + fixed, h: slot * many, unit };
  const lower = sideBySide(lowerLine, "table lines rows 0.8 word 0.5 bar 0.3 number", { ...widths, bar: bars });
  const all = { ...lower.bar, y: lower.bar.y + slots * slot, h: picture };
  return { ...upper, ...lower, strip: { ...upper.strip, h: strip }, all, slot };
}

// What both layouts leave free at the borders: lanes for the way back, and the last line.
function borderOf({ unit, inside }) {
  const lane = LANE * unit;
  const [left, right, end] = [inside.x + lane, inside.x + inside.w - lane, inside.y + inside.h];
  const foot = end - lane - NOTE * unit;
  const lanes = { left: inside.x + 0.3 * unit, right: right + 0.7 * unit, foot: end - 0.4 * unit };
  return { left, right, top: inside.y + NAME_SIZE * unit, foot, lanes, note: { x: left, y: foot, w: right - left } };
}

function narrowPlan(plan) {
  const { unit, label, m, slots, many } = plan;
  const { left, right, top, foot } = borderOf(plan);
  const [table, lines, number] = [1.5, 1.3, 3.9].map((size) => size * unit);
  const strip = 1.2 * unit;
  const between = 1.4 * unit; // the slot of the next token
  const fixed = between + 1.1 * unit + strip + (NAME_SIZE + 0.3) * unit;
  const least = SLOT.least * unit * slots + PICTURE.least * unit;
  const height = foot - top - fixed;
  const roomy = height - SLOT.small * unit * slots - PICTURE.small * unit;
  const tight = height - SLOT.least * unit * slots;
  const wanted = Math.max(roomy, Math.min(height - least, 5 * unit), Math.min(tight, 2 * unit), 1);
  const high = Math.min(rowRects(m, unit), wanted);
  const { picture, slot } = heightsOf(plan, height - high, SLOT.small * unit);
  const free = right - left - table - lines - number - 1.1 * unit;
  const word = Math.min(6 * unit, free * 0.38);
  const real = (free - word) * 0.38;
  const widths = { tokens: label, table, lines, rows: real, word, bar: free - word - real, number };
  const hidden = right - left - label - 0.5 * unit;
  const upper = sideBySide({ x: left, y: top, h: high, unit }, "tokens 0.5 hidden", { ...widths, hidden });
  const lowerLine = { x: left, y: top + high + fixed, h: slot * many, unit };
  const lower = sideBySide(lowerLine, "table lines rows 0.3 word 0.4 bar 0.4 number", widths);
  const { rows, bar } = lower;
  const all = { x: rows.x, y: rows.y + slots * slot, w: bar.x + bar.w - rows.x, h: picture };
  return { ...upper, ...lower, strip: { ...rows, y: top + high + between + 1.1 * unit, h: strip }, all, slot };
}

// The height needed if items stand below each other; the same for all steps.
export function outputBoardHeight({ unit, data }) {
  const m = data.labels("target_in").length;
  const slots = Math.max(...data.outputs.ids.map((ids) => ids.length)) + 2;
  const fixed = 2 * NAME_SIZE + 1.4 + 1.1 + 1.2 + 0.3 + LANE + NOTE + PICTURE.small + slots * SLOT.small;
  return Math.ceil(rowRects(m, unit) + fixed * unit + rimOf(unit));
}
