// What is wrong with texts, or worth knowing of them, as pages/frame/sentence.py says it.
const ENGLISH = ["English", "en", "eng"];
const GERMAN = ["German", "de", "deu"];
const QUOTED = 20; // characters of an unknown token that a message quotes
const LETTER = /\p{L}/gu;
const LATIN = /\p{Script=Latin}/u;
const HANGUL = /\p{Script=Hangul}/u;
const READERS = { "ko-numbers": "numerals", "ko-en": "sentences" }; // models that read Hangul -> what of it, in texts.js

/**
 * [kind of message, text of texts.js, its values] of each, the worst first.
 * @param {{source: string, target: string}} sentence
 * @param {Record<"source" | "target", {tokens: number, unknown: string[], outside?: {named: [string, string[]][], more:
 * boolean}}>} read tokens with </s>, 1 for none; unknown: labels of those that are not in the vocabulary; outside: words
 * that are not in a closed one
 * @param {any} about the model's web.json
 * @param {number} limit
 * @returns {[string, string, any][]}
 */
export function findProblems(sentence, read, about, limit) {
  for (const side of /** @type {const} */ (["source", "target"])) {
    const { tokens } = read[side];
    const blank = !sentence[side].trim();
    if (blank && side === "source") return [["note", "source_none", { limit }]];
    if (!blank && tokens <= 1) return [["error", `${side}_unreadable`, { limit }]];
    if (tokens > limit) return [["error", `${side}_long`, { tokens, limit }]];
  }
  /** @type {[string, string, any][]} */
  const found = [];
  const { tokens, unknown, outside } = read.source;
  if (about.reads && !isPlain(sentence.source, about.reads.pattern))
    found.push(["warning", "outside", { language: about.reads.what }]);
  else if (isUnreadable(sentence.source, tokens, unknown.length, about))
    found.push(["warning", "reads", { language: about.languages[0] }]);
  else if (outside?.named.length) found.push(["note", "outside_words", { outside }]);
  const longest = about.trained_up_to;
  if (longest && tokens > longest) found.push(["note", "untrained", { count: tokens, longest }]);
  const strange = [...unknown, ...read.target.unknown].map((label) =>
    label.length <= QUOTED ? label : `${label.slice(0, QUOTED)}…`,
  );
  if (strange.length) found.push(["note", "unknown", { tokens: strange.join(" ").slice(0, 200) }]);
  return found;
}

/**
 * Other models that read a text in Hangul: for a number those of numerals, else those of sentences; if there are none of
 * these, the others. kept: whether the text can stay.
 * @param {string} text @param {{about: any}[]} models of the site @param {string} open name of the one that is open
 */
export function readersOf(text, models, open) {
  if (!isIn(HANGUL, text)) return [];
  const others = models.filter(({ about }) => about.name !== open && about.name in READERS).map(({ about }) => about);
  const isNumber = others.some(({ reads }) => reads && isPlain(text, reads.pattern));
  const fitting = others.filter(({ name }) => READERS[name] === (isNumber ? "numerals" : "sentences"));
  const kept = fitting.length > 0;
  return (kept ? fitting : others).map(({ name }) => ({ name, reads: READERS[name], kept }));
}

// Whether at least half of the letters of a text, if it has some, are in a script.
function isIn(script, text) {
  const letters = text.match(LETTER) ?? [];
  return letters.length > 0 && 2 * letters.filter((letter) => script.test(letter)).length >= letters.length;
}

// Whether a toy reads a text, as transformer/text/toys.py tells it.
function isPlain(text, pattern) {
  const plain = text.normalize("NFKC").toLowerCase().trim().replace(/\s+/gu, " ");
  return new RegExp(`^(?:${pattern})$`, "u").test(plain);
}

// Whether the model can read nothing of a text: en-de has some letters of other scripts in its vocabulary, which stood in
// names, and one of Korean with a closed vocabulary writes in Latin ones; of other models most tokens are unknown.
function isUnreadable(text, tokens, unknown, { languages: [source, target], words }) {
  if (!/\p{L}/u.test(text)) return false;
  if (words) return !isIn(HANGUL, text);
  if (ENGLISH.includes(source) && GERMAN.includes(target)) return !isIn(LATIN, text);
  return 2 * unknown > tokens - 1;
}
