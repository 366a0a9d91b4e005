import assert from "node:assert/strict";
import { test } from "node:test";
import { equation } from "./about.js";

globalThis.document = /** @type {any} */ ({
  createElement: (tag) => ({ tag, inner: [], append(...children) { this.inner.push(...children); } }),
}); // prettier-ignore

const written = (node) => (typeof node === "string" ? node : `<${node.tag}>${node.inner.map(written).join("")}</>`);
const html = (text) => equation(text).map(written).join("");

test("an equation raises and lowers what follows ^ and _", () => {
  assert.equal(html("softmax(*QK*^T / √*d*_k) *V*"), "softmax(<i>QK</><sup>T</> / √<i>d</><sub>k</>) <i>V</>");
  assert.equal(html("head_1, head_{*h*} *W*^O"), "head<sub>1</>, head<sub><i>h</></> <i>W</><sup>O</>");
});
