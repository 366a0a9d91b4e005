// What stands around a figure.
export const FIGURE_TEXTS = {
  save: "Save",
  save_png: "Picture (PNG)",
  save_svg: "Picture (SVG)",
  save_csv: "Its numbers (CSV)",
  failed: "This figure cannot be drawn: {reason}",
  missing: "the plotting library did not arrive; reload the page",
  read: "{title}: {count} numbers, from {low} to {high}. The arrow keys read them one by one.",
  read_none: "{title}: nothing to read yet",
};
