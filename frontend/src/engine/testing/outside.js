// What the closed vocabulary of the page says of texts, for tests/text/test_words.py. In: {words: content of words.json,
// texts, asked: words}; out: {outside: words of each text, near: words for each word asked, told: of the first text}.
import fs from "node:fs";
import { Vocabulary } from "../vocabulary.js";

const { words, texts, asked } = JSON.parse(fs.readFileSync(0, "utf8"));
const vocabulary = new Vocabulary(words);
const outside = texts.map((text) => vocabulary.outside(text));
const near = asked.map((word) => vocabulary.near(word));
process.stdout.write(JSON.stringify({ outside, near, told: vocabulary.told(texts[0]) }));
