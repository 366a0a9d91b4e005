// What pictures that follow the engine draw, computed in Node:
//
//   node numbers.js FOLDER
//
// FOLDER: a checkpoint with its graphs. stdin: [{picture: "decoding" | "feedforward" | "positions", source, target, limit,
// state}]. Prints the numbers of each.
import { text } from "node:stream/consumers";
import process from "node:process";
import { liveDecoding } from "../../decoding/live.js";
import { openFolder } from "../../engine/node.js";
import { liveActivity } from "../../feedforward/live.js";
import { livePositions } from "../../positions/live.js";
import { Live } from "../live.js";

const DRIVERS = { decoding: liveDecoding, feedforward: liveActivity, positions: livePositions };

const model = /** @type {any} */ (await openFolder(process.argv[2])); // before there is a document: SentencePiece asks
globalThis.document = /** @type {any} */ ({ documentElement: {}, addEventListener() {} });

const found = [];
for (const { picture, source, target = "", limit, state } of JSON.parse(await text(process.stdin))) {
  const style = { getPropertyValue: () => "1" };
  const view = /** @type {any} */ ({ state, data: { model: model.about.name }, element: { style }, show() {} });
  const drawn = new Promise((resolve) => (view.draw = resolve));
  const live = new Live();
  DRIVERS[picture](view, live);
  live.set({ engine: model, sentence: { source, target }, limit });
  await drawn;
  found.push(view.computed);
}
process.stdout.write(JSON.stringify(found));
