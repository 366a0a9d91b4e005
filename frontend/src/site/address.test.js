import assert from "node:assert/strict";
import { test } from "node:test";
import { START_VIEW } from "../state/generated.js";
import { addressOf, readAddress, splitAddress } from "./address.js";

const FOLDER = "https://host.org/teaching/heads/";
const PAGES = [{ name: "heads" }, { name: "lab", own: [] }, { name: "training", own: ["kind", "layer"] }];
const config = { encoder_layers: 4, decoder_layers: 3, heads: 8 };
const example = { source: "a b", target: "", view: { kind: "cross", layer: "3", head: "3", cell: "7,4" } };
const SITE = {
  models: [
    { about: { name: "en-de", config }, examples: [example, { source: "c", target: "d", view: { layer: "2" } }] },
    { about: { name: "sort", config: { ...config, heads: 2 } }, examples: [] },
  ],
};
const read = (rest) => readAddress(FOLDER + rest, FOLDER, SITE, PAGES);
const written = (shown, paths = true) => addressOf(shown, PAGES, paths);

test("a page is named by its folder, with or without its file, or by a parameter", () => {
  for (const [rest, name] of [
    ["", ""],
    ["index.html?kind=all", ""],
    ["lab", "lab"],
    ["lab/?part=why", "lab"],
    ["lab/index.html", "lab"],
    ["?page=lab", "lab"],
  ])
    assert.equal(splitAddress(FOLDER + rest, FOLDER).name, name);
});

test("without a link the first example opens with its view", () => {
  const { shown, notices } = read("");
  assert.deepEqual(notices, []);
  assert.deepEqual(shown, {
    ...{ page: "heads", checkpoint: "en-de", source: "a b", target: "", switches: {}, options: { heads: {} } },
    lesson: null,
    view: { ...START_VIEW, layer: 2, head: 2, cell: [6, 3], sight: "first" },
  });
  assert.equal(read("?source=a+b").shown.view.sight, "all"); // a link of somebody
});

test("a link with a sentence opens that, and with an example's sentence its view too", () => {
  const { shown } = read("?source=x&target=y");
  assert.deepEqual([shown.source, shown.target, shown.view], ["x", "y", START_VIEW]);
  assert.equal(read("?source=c").shown.view.layer, 1);
  assert.equal(read("?source=c&head=2").shown.view.layer, 0);
  assert.deepEqual([read("?source=").shown.source], [""]);
});

test("what a link asks for in vain is named, and something else shown", () => {
  const { shown, notices } = read("nothing/?checkpoint=gone&layer=9&kind=self&head=8");
  assert.deepEqual(notices, [
    ["no_page", { name: "nothing" }],
    ["no_model", { name: "gone", shown: "en-de" }],
    ["refused", { name: "kind", asked: "self" }],
    ["refused", { name: "layer", asked: "9" }],
  ]);
  assert.deepEqual([shown.page, shown.checkpoint, shown.view.head], ["heads", "en-de", 7]);
  assert.deepEqual(read("?checkpoint=sort&head=3").notices, [["refused", { name: "head", asked: "3" }]]);
});

test("parameters are switches, options of the page or parts of the view", () => {
  const { shown } = read("lab/?zero=cross.2&part=measures&kind=encoder_self&lang=ko&big=1");
  assert.deepEqual(shown.switches, { zero: "cross.2" });
  assert.deepEqual(shown.options, { lab: { part: "measures" } });
  assert.deepEqual([shown.view.kind, shown.view.big], ["encoder_self", true]);
  const training = read("training/?kind=self&layer=99&preset=copy");
  assert.deepEqual(training.notices, []);
  assert.deepEqual(training.shown.options, { training: { kind: "self", layer: "99", preset: "copy" } });
});

test("what was read is written again", () => {
  const link = "lab/?checkpoint=en-de&source=a+%26+b&target=c&kind=all&layer=all&head=2&zero=cross.2&part=why";
  assert.equal(written(read(link).shown), link);
  assert.equal(written(read(link).shown, false), "?page=lab&" + link.slice("lab/?".length));
  const training = "training/?checkpoint=en-de&source=x&preset=copy&kind=self";
  assert.equal(written(read(training).shown), training);
  assert.match(
    written(read("?big=1").shown),
    /^\?checkpoint=en-de&source=a\+b&kind=cross&layer=3&head=3&cell=7%2C4&sight=first$/,
  );
});
