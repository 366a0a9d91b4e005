// The user's choices: a View of transformer/view/state.py, which keeps it in the address bar.
import { CHOICES, START_VIEW } from "./generated.js";

const isIndex = (value) => Number.isInteger(value) && value >= 0;

// Takes the valid values of `partial` and keeps the others: states come from links, which people edit.
export function mergeState(state, partial) {
  const next = { ...state };
  for (const [key, value] of Object.entries(partial || {})) {
    if (!(key in START_VIEW)) continue;
    if (key in CHOICES) next[key] = CHOICES[key].includes(value) ? value : state[key];
    else if (key === "layer" || key === "head") next[key] = value === "all" || isIndex(value) ? value : state[key];
    else if (key === "threshold") next[key] = value >= 0 && value <= 1 ? Number(value) : state[key];
    else if (key === "big") next[key] = Boolean(value);
    else if (key === "cell")
      next[key] = Array.isArray(value) && value.length === 2 && value.every(isIndex) ? [...value] : null;
  }
  return next;
}

export function stateText(state) {
  return JSON.stringify(Object.keys(START_VIEW).map((key) => state[key]));
}

export function changedKeys(before, after) {
  return Object.keys(START_VIEW).filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]));
}
