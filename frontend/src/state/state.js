// What a person has chosen. The same keys in every home; Python keeps them in the address bar.

export const STATE_DEFAULTS = {
  kind: "cross",
  layer: 0,
  head: 0,
  summary: "mean",
  rows: "predicted",
  pieces: "words",
  special: "shown",
  scale: "one",
  threshold: 0,
  view: "heatmap",
  cell: null,
  big: false,
};

const STATE_CHOICES = {
  kind: ["encoder_self", "decoder_self", "cross", "all"],
  summary: ["mean", "max"],
  rows: ["predicted", "fed"],
  pieces: ["pieces", "marked", "words"],
  special: ["shown", "hidden", "renormalised"],
  scale: ["one", "common", "head"],
  view: ["heatmap", "lines"],
};

const isIndex = (value) => Number.isInteger(value) && value >= 0;

// Takes over what is valid of `partial`, leaves the rest as it was: state arrives from links people edit.
export function mergeState(state, partial) {
  const next = { ...state };
  for (const [key, value] of Object.entries(partial || {})) {
    if (!(key in STATE_DEFAULTS)) continue;
    if (key in STATE_CHOICES) next[key] = STATE_CHOICES[key].includes(value) ? value : state[key];
    else if (key === "layer" || key === "head") next[key] = value === "all" || isIndex(value) ? value : state[key];
    else if (key === "threshold") next[key] = value >= 0 && value <= 1 ? Number(value) : state[key];
    else if (key === "big") next[key] = Boolean(value);
    else if (key === "cell")
      next[key] = Array.isArray(value) && value.length === 2 && value.every(isIndex) ? [...value] : null;
  }
  return next;
}

export function stateText(state) {
  return JSON.stringify(Object.keys(STATE_DEFAULTS).map((key) => state[key]));
}

export function changedKeys(before, after) {
  return Object.keys(STATE_DEFAULTS).filter((key) => JSON.stringify(before[key]) !== JSON.stringify(after[key]));
}
