// Words made of tokens, as transformer/analysis/tokens.py makes them.
export const MARK = "▁"; // how SentencePiece writes the space before a word
const BOX = "␣"; // label of a token that is only that mark
// Control tokens, and the language codes of M2M-100, NLLB and mBART.
const SPECIAL = /^(<pad>|<\/?s>|__[a-z]+__|[a-z]{3}_[A-Z][a-z]{3}|[a-z]{2}_[A-Z]{2})$/;

// What Python's split() and strip() take for a blank; "\s" is something else.
export const BLANK = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+";
const EDGES = new RegExp(`^${BLANK}|${BLANK}$`, "g");

/** Ids that a decoder never writes, as `ModelConfig.unwritten`. @param {{pad_id: number, start_id: number, end_id: number}} config */
export const unwritten = ({ pad_id, start_id, end_id }) =>
  [...new Set([pad_id, start_id])].filter((id) => id !== end_id);

const strip = (text) => text.replace(EDGES, "");

// Tokens in readable form: without the mark; a token that is only the mark becomes an open box.
export function readable(pieces) {
  return pieces.map((piece) => strip(piece.replaceAll(MARK, " ")) || BOX);
}

// True for tokens that nobody typed.
export function isSpecial(pieces) {
  return pieces.map((piece) => SPECIAL.test(piece));
}

const isPunctuation = (label) => /^[\p{P}\p{S}]+$/u.test(label);

// The number of each token's word. Punctuation at the start or end of a word is a word of its own.
export function wordNumbers(pieces, labels) {
  const special = isSpecial(pieces);
  const shown = labels.map((label, index) => (pieces[index] === MARK ? "" : strip(label)));
  const chunks = [];
  pieces.forEach((piece, index) => {
    if (!index || piece.startsWith(MARK) || special[index] || special[index - 1]) chunks.push([]);
    chunks.at(-1).push(index);
  });
  const numbers = new Array(pieces.length).fill(0);
  let word = -1;
  for (const chunk of chunks) {
    let [first, last] = [0, chunk.length];
    while (first < last && isPunctuation(shown[chunk[first]])) first++;
    while (last > first && isPunctuation(shown[chunk[last - 1]])) last--;
    chunk.forEach((index, offset) => {
      if (!(first < offset && offset < last)) word++;
      numbers[index] = word;
    });
  }
  return numbers;
}

// Each word in readable form.
export function wordLabels(labels, numbers) {
  const words = new Array(numbers.length ? Math.max(...numbers) + 1 : 0).fill("");
  labels.forEach((label, index) => (words[numbers[index]] += label));
  return words.map((word) => word.replace(/^␣+|␣+$/g, "") || word);
}
