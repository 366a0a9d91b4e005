import { NAME_SIZE, insideOf, labelRoom, rimOf, rowRects } from "./pen.js";
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
  return { ...plan, ...(small ? narrowPlan(plan) : widePlan(plan)) };
}

// Heights of a word's line and of the picture of all logits, in the height left for both.
function heightsOf({ unit, slots }, free, wantedHeight) {
  const picture = clamp(free - slots * wantedHeight, PICTURE.least * unit, PICTURE.most * unit);
  const slot = Math.min(wantedHeight, (free - picture) / slots);
  // The words come first: without height for both, the picture is left out.
  return slot < SLOT.least * unit ? { picture: 0, slot: Math.min(wantedHeight, free / slots) } : { picture, slot };
}

function widePlan(plan) {
  const { unit, inside, label, m, slots } = plan;
  const lane = LANE * unit;
  const left = inside.x + lane;
  const right = inside.x + inside.w - lane;
  const roomy = inside.w > 56 * unit;
  const [gap, table, lines, word, number] = (roomy ? [3, 4, 3.4, 6.6, 4.4] : [2.4, 3.8, 3.4, 5.4, 4.4]).map(
    (size) => size * unit,
  );
  const start = left + label + 0.6 * unit;
  const free = right - start - gap - table - lines - word - number - 2 * unit;
  const [wide, real] = [Math.min(free * 0.27, 20 * unit), Math.min(free * 0.3, 22 * unit)];
  const top = inside.y + NAME_SIZE * unit;
  const foot = inside.y + inside.h - lane - NOTE * unit;
  const strip = 1.5 * unit;
  const fixed = strip + (NAME_SIZE + 0.5) * unit;
  const { picture, slot } = heightsOf(plan, foot - top - fixed, SLOT.wide * unit);
  const down = top + Math.max(0, (foot - top - fixed - slot * slots - picture) / 2);
  const row = Math.min(2 * unit, (foot - down - 1.3 * unit) / m);
  const high = row * m;
  const tableX = start + wide + gap;
  const rowsX = tableX + table + lines;
  const wordX = rowsX + real + 0.8 * unit;
  const barX = wordX + word + 0.5 * unit;
  const y = down + fixed;
  return {
    lanes: { left: inside.x + 0.3 * unit, right: right + 0.7 * unit, foot: inside.y + inside.h - 0.4 * unit },
    tokens: { x: left, y: down, w: label, h: high },
    hidden: { x: start, y: down, w: wide, h: high },
    strip: { x: rowsX, y: down, w: real, h: strip },
    table: { x: tableX, y, w: table, h: slot * plan.many },
    rows: { x: rowsX, y, w: real, h: slot * plan.many },
    word: { x: wordX, w: word },
    bar: { x: barX, w: right - number - 0.5 * unit - barX },
    number: { x: right - number - 0.2 * unit, w: number },
    all: { x: barX, y: y + slots * slot, w: right - number - 0.5 * unit - barX, h: picture },
    note: { x: left, y: foot, w: right - left },
    slot,
  };
}

function narrowPlan(plan) {
  const { unit, inside, label, m, slots } = plan;
  const lane = LANE * unit;
  const left = inside.x + lane;
  const right = inside.x + inside.w - lane;
  const [table, lines, number] = [1.5, 1.3, 3.9].map((size) => size * unit);
  const top = inside.y + NAME_SIZE * unit;
  const foot = inside.y + inside.h - lane - NOTE * unit;
  const strip = 1.2 * unit;
  const between = 1.4 * unit; // the slot of the next token
  const fixed = between + 1.1 * unit + strip + (NAME_SIZE + 0.3) * unit;
  const rowsHeight = rowRects(m, unit);
  const least = SLOT.least * unit * slots + PICTURE.least * unit;
  const height = foot - top - fixed;
  const roomy = height - SLOT.small * unit * slots - PICTURE.small * unit;
  const tight = height - SLOT.least * unit * slots;
  const high = Math.min(rowsHeight, Math.max(roomy, Math.min(height - least, 5 * unit), Math.min(tight, 2 * unit), 1));
  const { picture, slot } = heightsOf(plan, height - high, SLOT.small * unit);
  const free = right - left - table - lines - number - 1.1 * unit;
  const word = Math.min(6 * unit, free * 0.38);
  const real = (free - word) * 0.38;
  const start = left + label + 0.5 * unit;
  const rowsX = left + table + lines;
  const wordX = rowsX + real + 0.3 * unit;
  const barX = wordX + word + 0.4 * unit;
  const stripY = top + high + between + 1.1 * unit;
  const y = stripY + strip + (NAME_SIZE + 0.3) * unit;
  const bar = { x: barX, w: right - number - 0.4 * unit - barX };
  return {
    lanes: { left: inside.x + 0.3 * unit, right: right + 0.7 * unit, foot: inside.y + inside.h - 0.4 * unit },
    tokens: { x: left, y: top, w: label, h: high },
    hidden: { x: start, y: top, w: right - start, h: high },
    strip: { x: rowsX, y: stripY, w: real, h: strip },
    table: { x: left, y, w: table, h: slot * plan.many },
    rows: { x: rowsX, y, w: real, h: slot * plan.many },
    word: { x: wordX, w: word },
    bar,
    number: { x: right - number, w: number },
    all: { x: rowsX, y: y + slots * slot, w: bar.x + bar.w - rowsX, h: picture },
    note: { x: left, y: foot, w: right - left },
    slot,
  };
}

// The height needed if items stand below each other; the same for all steps.
export function outputBoardHeight({ unit, data }) {
  const m = data.labels("target_in").length;
  const slots = Math.max(...data.outputs.ids.map((ids) => ids.length)) + 2;
  const fixed = 2 * NAME_SIZE + 1.4 + 1.1 + 1.2 + 0.3 + LANE + NOTE + PICTURE.small + slots * SLOT.small;
  return Math.ceil(rowRects(m, unit) + fixed * unit + rimOf(unit));
}
