// "a; b; c". The text `list` of t joins two items, so that a translation chooses the separator.
export function listText(t, items) {
  return items.reduce((first, second) => (first ? t("list", { first, second }) : second), "");
}
