import { el } from "./dom.js";

// A text with **bold** and *italic* words, as pages write it, as nodes.
export function markup(text) {
  return text
    .split(/(\*\*[^\s*][^*]*\*\*|\*[^\s*][^*]*\*)/)
    .filter(Boolean)
    .map((part) => {
      if (part.startsWith("**")) return el("b", null, part.slice(2, -2));
      return part.startsWith("*") && part.length > 1 ? el("i", null, part.slice(1, -1)) : part;
    });
}
