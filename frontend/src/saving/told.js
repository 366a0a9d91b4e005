import { printable } from "../core/dom.js";

// What a caption and a name say of the sentence and the switches: `saved` of pages/components/saving.py.
export function toldOf({ model, sentences, switches, in_words: inWords }) {
  return { stem: [model], lines: [sentences, inWords].filter(Boolean).map(printable), switches };
}
