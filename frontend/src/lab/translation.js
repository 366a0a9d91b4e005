// The translation as trained and with the switches, word by word.
import { isSpecial, readable, wordLabels, wordNumbers } from "../engine/words.js";

const MARK = "▁"; // of SentencePiece: a word begins

/** Both translations as the Lab shows them: pieces of text, and whether they differ. before, after: traces of the model's
 * own translations. */
export function translationsOf(before, after) {
  const [left, right] = [before, after].map((trace) => wordsOf(trace.target_out));
  const texts = [left, right].map((words) => words.map(({ text }) => text));
  const marks = differing(texts[0], texts[1]);
  const shown = (words, marks) =>
    words.flatMap(({ text, pieces, special }, at) =>
      special ? [] : [[(pieces[0].startsWith(MARK) ? " " : "") + text, marks[at]]],
    );
  return { before: shown(left, marks[0]), after: shown(right, marks[1]) };
}

/** The words of a token sequence, as `words` of transformer/analysis/translation.py: each piece is a word if every piece
 * is one character. probabilities: of the pieces. */
export function wordsOf(pieces, probabilities = []) {
  const special = isSpecial(pieces);
  const labels = readable(pieces);
  const letters = pieces.every((piece, at) => [...piece].length === 1 || special[at]);
  const numbers = letters ? pieces.map((_, at) => at) : wordNumbers(pieces, labels);
  return wordLabels(labels, numbers).map((text, word) => {
    const parts = pieces.map((_, at) => at).filter((at) => numbers[at] === word);
    const of = (values) => parts.map((at) => values[at]);
    return { text, pieces: of(pieces), probabilities: of(probabilities), special: special[parts[0]] };
  });
}

/** For each word of two lists, true if the other list does not have it there: as difflib in Python, what is not in the
 * longest common block, nor in those left and right of it, and so on. */
export function differing(before, after) {
  const marks = [before.map(() => true), after.map(() => true)];
  const match = (low, high, from, to) => {
    const block = longestBlock(before, after, [low, high, from, to]);
    if (!block.size) return;
    marks[0].fill(false, block.left, block.left + block.size);
    marks[1].fill(false, block.right, block.right + block.size);
    match(low, block.left, from, block.right);
    match(block.left + block.size, high, block.right + block.size, to);
  };
  match(0, before.length, 0, after.length);
  return marks;
}

// The first of the longest blocks that before[low..high] and after[from..to] have in common.
function longestBlock(before, after, [low, high, from, to]) {
  let best = { left: low, right: from, size: 0 };
  let lengths = new Map(); // of the block that ends at this word of `after`
  for (let left = low; left < high; left++) {
    const longer = new Map();
    for (let right = from; right < to; right++) {
      if (before[left] !== after[right]) continue;
      const size = (lengths.get(right - 1) ?? 0) + 1;
      longer.set(right, size);
      if (size > best.size) best = { left: left - size + 1, right: right - size + 1, size };
    }
    lengths = longer;
  }
  return best;
}
