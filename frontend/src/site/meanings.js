// What words mean, as transformer/text/meanings.py finds it in its list.

/**
 * The meaning of every word of each side, for the reader of the list; null for a side without a list, and if none has one.
 * @param {any} header of a pack of the explorer
 * @param {Record<string, Record<string, Record<string, string>>>} lists language -> word -> sentence in which it has this
 * meaning, "" for any -> meaning
 */
export function wordMeanings({ languages, sentences, word_labels: words }, lists) {
  const of = (side) => {
    const [language, sentence] =
      side === "source" ? [languages[0], sentences.source] : [languages[1], sentences.target];
    const list = new Map(Object.entries(lists[language] ?? {}));
    return list.size ? words[side].map((word) => find(list, word, sentence)) : null;
  };
  const told = { source: of("source"), target_in: of("target_in"), target_out: of("target_out") };
  return Object.values(told).some(Boolean) ? told : null;
}

// A word in the list is found in capitals, too.
function find(list, word, sentence) {
  const forms = [word, word.slice(0, 1).toLowerCase() + word.slice(1), word.toLowerCase()];
  const rows = forms.filter((form) => list.has(form)).map((form) => new Map(Object.entries(list.get(form))));
  return rows.map((row) => row.get(sentence) ?? row.get("")).find((meaning) => meaning !== undefined) ?? null;
}
