// Text to tokens and back, with SentencePiece compiled to WebAssembly; as transformer/text/tokenizer.py, and for Marian
// as transformer/checkpoints/importers/vocabulary.py.
import sentencepiece from "@agnai/sentencepiece-js";
import { BLANK } from "./words.js";

const MARKS = 30; // largest number of combining marks on one letter
const JOINER = "\u034f"; // invisible
const UNKNOWN = "▁⁇"; // in a decoded text
const CONTROL = 3; // type of a piece that is not text

// The text as SentencePiece reads it: control characters and runs of blanks become one blank; NFC.
export function clean(text) {
  const words = text
    .toWellFormed()
    .replace(/\p{Cc}/gu, " ")
    .split(new RegExp(BLANK))
    .filter(Boolean);
  return composed(words.join(" "));
}

/** The text in NFC: a letter and its mark are one character, however they were typed. @param {string} text */
export const composed = (text) => text.replace(LONG_RUN, joined).normalize("NFC");

const LONG_RUN = new RegExp(`\\p{M}{${MARKS + 1},}`, "gu");

// Marks with the joiner after every MARKS of them that Unicode sorts.
function joined(marks) {
  let count = 0;
  let text = "";
  for (const mark of marks) {
    count = isSorted(mark) ? count + 1 : 0;
    if (count > MARKS) {
      text += JOINER;
      count = 1;
    }
    text += mark;
  }
  return text;
}

// Whether a character has a combining class, that is, goes before a mark of the last class, U+0345.
const isSorted = (mark) => mark === "\u0345" || !`\u0345${mark}`.normalize("NFD").startsWith("\u0345");

// The pieces of a SentencePiece model in the order of their ids: field 1 of the file, and in each, field 1 (its text), 2
// (its score) and 3 (its type).
function readPieces(bytes) {
  const pieces = [];
  const decoder = new TextDecoder();
  let at = 0;
  const varint = () => {
    let [value, factor] = [0, 1];
    for (;;) {
      const byte = bytes[at++];
      value += (byte & 127) * factor;
      if (byte < 128) return value;
      factor *= 128;
    }
  };
  while (at < bytes.length) {
    const tag = varint();
    if (tag % 8 === 0) varint();
    else if (tag % 8 === 5) at += 4;
    else if (tag % 8 === 1) at += 8;
    else {
      const end = varint() + at;
      if (tag === 10) {
        at++;
        const length = varint();
        const text = decoder.decode(bytes.subarray(at, at + length));
        at += length;
        if (bytes[at] === 21) at += 5;
        pieces.push({ text, control: bytes[at] === 24 && bytes[at + 1] === CONTROL && at < end });
      }
      at = end;
    }
  }
  return pieces;
}

async function openProcessor(bytes) {
  const processor = new sentencepiece.SentencePieceProcessor();
  await processor.load(bytes); // the build gives it a file system that has only these bytes (build.js)
  return processor;
}

class Tokenizer {
  constructor(processor, bytes) {
    this.processor = processor;
    this.stored = readPieces(bytes).map(({ text }) => text);
  }

  // Ids without <s> and </s>.
  encode(text) {
    return this.processor.encodeIds(clean(text));
  }

  // The text of each token; for <unk> the typed characters.
  surfaces(text) {
    return this.processor.encodePieces(clean(text));
  }

  pieces(ids) {
    return ids.map((id) => this.stored[id]);
  }

  decode(ids) {
    return this.processor.decodeIds(ids);
  }
}

const CODE = /^(>>.*?<<)?(.*)$/s; // a language code, and the rest
// What transformers' `clean_up_tokenization` writes without blanks.
const TIDIED = [" .", " ?", " !", " ,", " ' ", " n't", " 'm", " 's", " 've", " 're"];

// Marian: SentencePiece makes the pieces, a table gives their ids.
class VocabularyTokenizer {
  constructor(processor, bytes, about) {
    const { vocabulary, size, unknown, controls, added = [], silent = controls, tidy = false, codes = true } = about;
    this.processor = processor;
    this.unknown = unknown;
    this.codes = codes;
    this.unspoken = new Set(readPieces(bytes).flatMap(({ text, control }) => (control ? [text] : [])));
    this.vocabulary = new Map(Object.entries(vocabulary));
    this.controls = new Set(controls);
    this.silent = new Set(silent);
    this.tidied = tidy ? TIDIED : [];
    const longestFirst = [...added].sort((a, b) => b.length - a.length);
    const patterns = longestFirst.map((token) => token.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
    this.whole = new RegExp(`(${patterns.join("|") || "(?!)"})`, "u"); // (?!) is nowhere
    this.stored = Array.from({ length: size }, (_, id) => `<${id}>`);
    for (const [piece, id] of this.vocabulary) this.stored[id] = piece;
  }

  // The tokens of a text: added ones and language codes, and the pieces of the parts between them.
  surfaces(text) {
    return clean(text)
      .split(this.whole)
      .flatMap((part, index) => {
        const [, code, rest] = index % 2 ? [part, part, ""] : this.codes ? CODE.exec(part) : [part, "", part];
        return [...(code ? [code] : []), ...(rest ? this.processor.encodePieces(rest) : [])];
      });
  }

  encode(text) {
    return this.surfaces(text).map((piece) => {
      const id = this.vocabulary.get(piece) ?? this.unknown;
      return this.controls.has(id) ? this.unknown : id;
    });
  }

  pieces(ids) {
    return ids.map((id) => this.stored[id]);
  }

  decode(ids) {
    const shown = ids.filter((id) => !this.silent.has(id));
    const pieces = shown.map((id) => (id === this.unknown ? UNKNOWN : this.stored[id]));
    const spoken = pieces.filter((piece) => !this.unspoken.has(piece));
    const text = spoken.join("").replaceAll("▁", " ").trim();
    return this.tidied.reduce((whole, blank) => whole.replaceAll(blank, blank.trim()), text);
  }
}

// bytes: of the SentencePiece model; table: {vocabulary, size, unknown, controls, added, silent, tidy} of a Marian model.
export async function openTokenizer(bytes, table) {
  const processor = await openProcessor(bytes);
  return table ? new VocabularyTokenizer(processor, bytes, table) : new Tokenizer(processor, bytes);
}
