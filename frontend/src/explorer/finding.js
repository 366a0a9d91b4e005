// What a picture of attention shows first: the strongest weight between two content words.

const LONG = 4; // letters of a word that is hardly a function word
const APART = 0.3; // how much a link counts for that leads to another place of the sentence

/**
 * The row and column of a view by words; null if no row has a letter.
 * @param {{data: ArrayLike<number>, queries: number, keys: number, rowLabels: string[], columnLabels: string[]}} view
 */
export function strongestWord({ data, queries, keys, rowLabels, columnLabels }) {
  const letters = (label) => label.replace(/[^\p{L}\p{N}]/gu, "").length;
  const longEnough = (labels) => (labels.some((one) => letters(one) >= LONG) ? LONG : 1);
  const [least, leastColumn] = [longEnough(rowLabels), longEnough(columnLabels)];
  let best = null;
  for (let row = 0; row < queries; row++) {
    if (letters(rowLabels[row]) < least) continue;
    for (let column = 0; column < keys; column++) {
      if (letters(columnLabels[column]) < leastColumn) continue;
      const apart = Math.abs(row / queries - column / keys);
      const worth = data[row * keys + column] * (1 + APART * apart);
      if (!best || worth > best.worth) best = { row, column, worth };
    }
  }
  return best && { row: best.row, column: best.column };
}
