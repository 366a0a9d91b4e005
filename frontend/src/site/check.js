// What is wrong with texts, or worth knowing of them, as pages/frame/sentence.py says it.
const ENGLISH = ["English", "en", "eng"];
const GERMAN = ["German", "de", "deu"];
const QUOTED = 20; // characters of an unknown token that a message quotes
const LETTER = /\p{L}/gu;
const LATIN = /\p{Script=Latin}/u;

/**
 * [kind of message, text of texts.js, its values] of each, the worst first.
 * @param {{source: string, target: string}} sentence
 * @param {Record<"source" | "target", {tokens: number, unknown: string[]}>} read tokens with </s>, 1 for none; unknown: labels
 * of those that are not in the vocabulary
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
  const { tokens, unknown } = read.source;
  if (about.reads && !isPlain(sentence.source, about.reads.pattern))
    found.push(["warning", "outside", { language: about.reads.what }]);
  else if (isUnreadable(sentence.source, tokens, unknown.length, about.languages))
    found.push(["warning", "reads", { language: about.languages[0] }]);
  const longest = about.trained_up_to;
  if (longest && tokens > longest) found.push(["note", "untrained", { count: tokens, longest }]);
  const strange = [...unknown, ...read.target.unknown].map((label) =>
    label.length <= QUOTED ? label : `${label.slice(0, QUOTED)}…`,
  );
  if (strange.length) found.push(["note", "unknown", { tokens: strange.join(" ").slice(0, 200) }]);
  return found;
}

// Whether a toy reads a text, as transformer/text/toys.py tells it.
function isPlain(text, pattern) {
  const plain = text.normalize("NFKC").toLowerCase().trim().replace(/\s+/gu, " ");
  return new RegExp(`^(?:${pattern})$`, "u").test(plain);
}

// Whether the model can read nothing of a text: en-de has some letters of other scripts in its vocabulary, which stood in
// names; of other models most tokens are unknown.
function isUnreadable(text, tokens, unknown, [source, target]) {
  const letters = text.match(LETTER) ?? [];
  if (ENGLISH.includes(source) && GERMAN.includes(target))
    return letters.length > 0 && 2 * letters.filter((letter) => LATIN.test(letter)).length < letters.length;
  return letters.length > 0 && 2 * unknown > tokens - 1;
}
