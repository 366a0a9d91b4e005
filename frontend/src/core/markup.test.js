import assert from "node:assert/strict";
import { test } from "node:test";
import { markup } from "./markup.js";

globalThis.document = /** @type {any} */ ({
  createElement: (tag) => ({ tag, text: "", append: (...children) => children }),
});

test("bold and italic words become elements, everything else stays text", () => {
  const found = markup("**Rows** are *queries*: 2 * 3 **").map((part) => (typeof part === "string" ? part : part.tag));
  assert.deepEqual(found, ["b", " are ", "i", ": 2 * 3 **"]);
});
