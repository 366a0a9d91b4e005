// The menu that saves a picture.
export const SAVING_TEXTS = {
  save: "Save",
  save_png: "Picture (PNG)",
  save_svg: "Picture (SVG)",
  save_csv: "Numbers (CSV)",
};
