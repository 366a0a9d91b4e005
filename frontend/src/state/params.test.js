import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { START_VIEW } from "./generated.js";
import { readView, viewParams } from "./params.js";

// Also read by tests/web/test_site.py: there `view_from_params` and `to_params` give the same. A case says what differs from
// the view before any choice, and from its link.
const { layers, heads, cases } = JSON.parse(readFileSync(new URL("params_cases.json", import.meta.url), "utf8"));

const USUAL = { kind: "cross", layer: "1", head: "1" };

for (const { params, view, refused = [], written, start } of cases)
  test(`the link ${new URLSearchParams(params)} is read and written as Python does`, () => {
    const found = readView(params, layers, heads, { ...START_VIEW, ...start });
    assert.deepEqual(found, { view: { ...START_VIEW, ...view }, refused });
    assert.deepEqual(Object.entries(viewParams(found.view)), Object.entries({ ...USUAL, ...written }));
  });

test("a link of an empty view opens the view before any choice", () => {
  assert.deepEqual(readView({}, layers, heads), { view: START_VIEW, refused: [] });
});
