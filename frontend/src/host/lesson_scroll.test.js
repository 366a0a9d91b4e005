import assert from "node:assert/strict";
import { test } from "node:test";

import lessonScroll from "./lesson_scroll.js";

test("an older stop that Streamlit draws again after a newer one does not move the page", async () => {
  const panel = { scrollTop: 40 };
  const main = { scrollTop: 300 };
  const found = { "[data-testid=stMain]": main, ".st-key-hs-lesson": panel };
  globalThis.window = /** @type {any} */ ({ addEventListener: () => {}, innerWidth: 1280, innerHeight: 720 });
  globalThis.document = /** @type {any} */ ({
    querySelector: (selector) => (selector.includes("notRunning") ? {} : (found[selector] ?? null)),
  });
  const asked = [];
  const field = { setAttribute: (...pair) => asked.push(pair.join("=")) };
  let drawn = () => {};
  globalThis.MutationObserver = /** @type {any} */ (
    class {
      constructor(react) {
        drawn = react;
      }
      observe() {}
    }
  );
  globalThis.document.querySelectorAll = /** @type {any} */ (() => [field]);
  const looks = () => new Promise((done) => setTimeout(done, 250));

  lessonScroll({ data: { at: "lesson 6 True", since: 2, lit: "" } });
  await looks();
  assert.deepEqual([main.scrollTop, panel.scrollTop], [0, 0]);
  drawn(); // a field that comes later
  assert.deepEqual(asked, ["inputmode=decimal", "inputmode=decimal"]);

  [main.scrollTop, panel.scrollTop] = [20, 30];
  lessonScroll({ data: { at: "lesson 5 False", since: 1, lit: "" } });
  lessonScroll({ data: { at: "lesson 6 True", since: 3, lit: "" } }); // the same, drawn again
  await looks();
  assert.deepEqual([main.scrollTop, panel.scrollTop], [20, 30]);

  lessonScroll({ data: { at: "lesson 7 True", since: 4, lit: "" } });
  await looks();
  assert.deepEqual([main.scrollTop, panel.scrollTop], [0, 0]);
});
