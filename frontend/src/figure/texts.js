import { SAVING_TEXTS } from "../saving/texts.js";

// What stands around a figure.
export const FIGURE_TEXTS = {
  ...SAVING_TEXTS,
  failed: "This figure cannot be drawn: {reason}",
  missing: "the plotting library did not load; reload the page",
  read: "{title}: {count} numbers, from {low} to {high}. Use the arrow keys to read them one by one.",
  read_none: "{title}: no numbers yet",
};
