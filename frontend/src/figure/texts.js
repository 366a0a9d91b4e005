// What stands around a figure.
export const FIGURE_TEXTS = {
  save: "Save",
  save_png: "Picture (PNG)",
  save_svg: "Picture (SVG)",
  save_csv: "Numbers (CSV)",
  failed: "This figure cannot be drawn: {reason}",
  missing: "the plotting library did not load; reload the page",
  read: "{title}: {count} numbers, from {low} to {high}. Use the arrow keys to read them one by one.",
  read_none: "{title}: no numbers yet",
};
