import { readFileSync } from "node:fs";
import { mathWidth } from "../stage/measure.js";

// Finds faults of a board, for tests: texts are measured with the widths of DejaVu Sans, the widest font expected here.

const widths = JSON.parse(readFileSync(new URL("widths.json", import.meta.url), "utf8"));
const tables = Object.fromEntries(
  Object.entries(widths).map(([weight, table]) => [
    weight,
    new Map(
      Object.entries(table).flatMap(([width, letters]) => [...letters].map((letter) => [letter, Number(width) / 1000])),
    ),
  ]),
);

/** Width of a text in its sizes; letters that the font lacks are Korean or the like. */
const lettersWide = (text, weight) => [...text].reduce((sum, letter) => sum + (tables[weight].get(letter) ?? 1.05), 0);

// The ink of a text; `cut`: the stage shortens a text that is too wide.
function inkOf(item, unit, cut) {
  const { kind, text, align = "left", weight = 400 } = item;
  const size = unit * (item.size || (kind === "math" ? 1.05 : 1));
  const letters = (piece, share) => lettersWide(piece, weight) * share;
  const long = (kind === "math" ? mathWidth(text, false, letters) : lettersWide(text, weight)) * size;
  const w = cut ? Math.min(item.w || Infinity, long) : long;
  const x = item.x + ((item.w || 0) - w) * (item.w ? { left: 0, center: 0.5, right: 1 }[align] : 0);
  return { key: item.key, x, w, y: item.y + (item.h - size) / 2, h: size };
}

const meet = (a, b) => Math.min(a.x + a.w - b.x, b.x + b.w - a.x, a.y + a.h - b.y, b.y + b.h - a.y) > 1;

// ctx: of the board; least: the smallest text size; cut: whether texts may be wider than their space; apart: whether
// two items, by their keys, may meet.
export function faultsOf(
  items,
  { area, unit },
  { least = 0.85, cut = true, apart = /** @type {(one: string, other: string) => boolean} */ (() => false) } = {},
) {
  const faults = [];
  const keys = new Set();
  const [texts, pictures] = [[], []];
  for (const item of items) {
    const { key, kind, x, y, w, h } = item;
    if (keys.has(key)) faults.push(`twice: ${key}`);
    keys.add(key);
    if (![x, y, w, h].every(Number.isFinite) || w < 0 || h < 0) faults.push(`no rectangle: ${key}`);
    if (!["box", "arrow"].includes(kind) && (w < 1 || h < 1)) faults.push(`not to be seen: ${key}`);
    if (item.go && !item.label && !key.startsWith("m:")) faults.push(`no spoken name: ${key}`);
    const letters = kind === "text" || kind === "math";
    const ink = letters ? inkOf(item, unit, cut) : { key, x, y, w, h };
    if (letters) {
      if (/undefined|NaN|null/.test(item.text)) faults.push(`${key} says ${item.text}`);
      if (ink.w > w + 1 && !cut) faults.push(`longer than its room: ${key} ${item.text}`);
      if (item.size < least) faults.push(`small: ${key}`);
    }
    const beyond = (at, size) => ink[at] < area[at] - 0.5 || ink[at] + ink[size] > area[at] + area[size] + 0.5;
    if (beyond("x", "w") || beyond("y", "h")) faults.push(`outside: ${key}`);
    if (letters || kind === "tokens") texts.push(ink);
    // "under": heads' parts of a matrix, hidden by the whole; rows of a table may overlap.
    const alone = item.group !== "under" && !/^(row|out:row):/.test(key);
    if (alone && (kind === "matrix" || key.endsWith(":wait"))) pictures.push(ink);
    if (kind === "tokens" && item.orient === "columns" && w / item.labels.length < 4 * unit) {
      const long = Math.min((h - unit * 0.5) / Math.sin(Math.PI / 3), lettersWide(item.labels.at(-1), 400) * unit);
      // Labels lean to the right by 60 degrees.
      if (x + w - w / item.labels.length / 2 + long / 2 + 0.55 * unit > area.x + area.w + 1)
        faults.push(`leans out: ${key}`);
    }
  }
  const all = [...texts, ...pictures].sort((a, b) => a.x - b.x);
  all.forEach((item, i) => {
    for (let k = i + 1; k < all.length && all[k].x < item.x + item.w; k++)
      if (meet(item, all[k]) && !apart(item.key, all[k].key)) faults.push(`${item.key} meets ${all[k].key}`);
  });
  return faults;
}

/** A text by its key; one that is not there, or a value that is missing, is an error. */
export const textsOf =
  (texts, used = new Set()) =>
  (key, values = {}) => {
    if (!(key in texts)) throw new Error(`no text ${key}`);
    used.add(key);
    // An index such as _{model} is kept, unless it has a value.
    return texts[key].replace(/([_^]?)\{(\w+)\}/g, (match, sign, name) => {
      if (values[name] === undefined && !sign) throw new Error(`${key} has no ${name}`);
      return values[name] === undefined ? match : sign + values[name];
    });
  };

export const byKey = (items) => Object.fromEntries(items.map((item) => [item.key, item]));
