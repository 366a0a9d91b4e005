// The closed vocabulary of a model, as transformer/text/words.py reads it: which words of a text are outside it, and which
// known ones are near.
import { BLANK } from "./words.js";

const WORD = "\\p{L}\\p{N}_";
const EDGES = new RegExp(`^[^${WORD}]+|[^${WORD}]+$`, "gu");
const TENS = "열|스물|서른|마흔|쉰|예순|일흔|여든|아흔";
const ONES = "하나|한|둘|두|셋|세|넷|네|다섯|여섯|일곱|여덟|아홉";
const NUMBER = new RegExp(
  `^(?:[0-9][0-9.,:]*|(?:${TENS})(?:${ONES})?|${ONES}|스무|[영공일이삼사오육칠팔구십백천만억조]+)`,
);
const LONGEST = 40; // syllables of a word that is looked for
const ALIKE = 0.65; // share of the letters of two words that has to be the same for one to be near the other
const [NAMED, NEAR] = [4, 2]; // most words that a message names, and most near ones of each

const letters = (text) => text.normalize("NFD");
const cut = (word) => Array.from(word).slice(0, LONGEST);
const isShort = (known) => known.slice(1) === "다" && letters(known[0]).length === 3; // as 먹다
const stemOf = (known) => (known.length > 2 ? known.replace(/다$/, "") : known);

export class Vocabulary {
  // content of words.json
  constructor({ words, beginnings, endings, forms }) {
    const sets = (kinds) => new Map(Object.entries(kinds).map(([kind, parts]) => [kind, new Set(parts.map(letters))]));
    this.words = words;
    this.beginnings = sets(beginnings);
    this.endings = sets(endings);
    this.forms = new Set(forms);
  }

  // [kind, rest] of a word for every known beginning; the rest need not be an ending.
  *divisions(word) {
    const spelled = letters(word);
    for (let end = 1; end <= spelled.length; end++)
      for (const [kind, beginnings] of this.beginnings)
        if (beginnings.has(spelled.slice(0, end))) yield [kind, spelled.slice(end)];
  }

  // Whether this is a form of a known word, or a number.
  knows(typed) {
    if (Array.from(typed).length > LONGEST) return false;
    const word = typed.normalize("NFKC");
    if (this.forms.has(word)) return true;
    for (const [kind, rest] of this.divisions(word)) if (this.endings.get(kind)?.has(rest)) return true;
    const after = word.replace(NUMBER, "");
    if (after === word) return false;
    const ends = [letters(after)];
    for (const [kind, rest] of this.divisions(after)) if (kind === "counter") ends.push(rest);
    return !after || ends.some((end) => this.endings.get("noun")?.has(end));
  }

  // The words of a text that are none of these, each once.
  outside(text) {
    const parts = text.normalize("NFC").split(new RegExp(BLANK));
    const words = parts.map((part) => part.replace(EDGES, "")).filter(Boolean);
    return [...new Set(words)].filter((word) => !this.knows(word));
  }

  // Known words that begin like this one, the nearest first, then the longest.
  near(word) {
    const syllables = cut(word);
    const begins = letters(syllables[0])[0];
    const found = [];
    this.words.forEach((known, place) => {
      if (known.length < 2 || letters(known)[0] !== begins) return;
      const share = isShort(known) && syllables[0] === known[0] ? 1 : alike(stemOf(known), syllables);
      if (share >= ALIKE) found.push({ share, known, place });
    });
    const order = (one, other) =>
      other.share - one.share || other.known.length - one.known.length || one.place - other.place;
    return found
      .sort(order)
      .slice(0, NEAR)
      .map(({ known }) => known);
  }

  // [the word, those near it] of the words that a message names, and how many more there are.
  told(text) {
    const found = this.outside(text);
    return {
      named: found.slice(0, NAMED).map((word) => [cut(word).join(""), this.near(word)]),
      more: found.length > NAMED,
    };
  }
}

// The share of letters that a stem and the beginning of a word have in common.
function alike(stem, syllables) {
  const spelled = letters(stem);
  let [best, read] = [0, 0];
  let row = Array.from({ length: spelled.length + 1 }, (_, place) => place);
  for (const syllable of syllables.slice(0, stem.length + 1)) {
    for (const letter of letters(syllable)) {
      const above = row;
      row = [++read];
      for (let place = 0; place < spelled.length; place++)
        row.push(Math.min(above[place] + Number(letter !== spelled[place]), above[place + 1] + 1, row[place] + 1));
    }
    best = Math.max(best, 1 - row.at(-1) / Math.max(read, spelled.length, 1));
  }
  return best;
}
