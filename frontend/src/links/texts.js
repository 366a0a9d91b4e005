// The texts of the links between two sentences.
export const LINKS_TEXTS = {
  region: "Which word translates which",
  link: "{source} – {target}",
  csv_source: "source word",
  csv_target: "target word",
};
