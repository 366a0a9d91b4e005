// Compares the packs of the server with those made from traces of the engine, in Node, for tests/web/test_anatomy_packs.py:
//
//   node same_packs.js JOBS
//
// JOBS: a JSON file, [{folder: of a model, facts, asked, plain: switches of the pass before those of `asked`, or null,
// packs: [{file, sort, ...}]}]; the files are packs of the server beside it. Prints for each job: file -> what differs.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { readPack } from "../../core/pack.js";
import { openFolder } from "../../engine/node.js";
import * as make from "../from_trace.js";

// Makes a pack by its sort.
async function makerOf({ folder, facts, asked, plain }) {
  const model = /** @type {any} */ (await openFolder(folder));
  const trace = await model.trace(asked);
  const before = plain ? await model.trace({ ...asked, switches: plain }) : null;
  const read = (names) => model.parameters({ names });
  const vectors = await read(make.vectorNames(facts));
  const pieces = await model.pieces({ ids: Array.from({ length: facts.config.output_size }, (_, id) => id) });
  return {
    trace: () => make.tracePack(trace, before, facts, pieces),
    open: ({ encoder, decoder }) => make.openPack(trace, encoder, decoder),
    async place({ place, t }) {
      const rows = make.rowsOf(trace, facts, place, t);
      const parameters = { ...vectors, ...(rows && (await read([rows]))) };
      return make.placePack(trace, before, facts, parameters, place, t);
    },
    async weights({ place, step }) {
      const parameters = await read(make.weightNames(facts, place, step));
      return make.weightsPack(model.about.name, facts, parameters, place, step);
    },
  };
}

const isReference = (value) => value && typeof value === "object" && "dtype" in value && "shape" in value;

// Everything that differs between two headers, and how much between two arrays.
function differences(ours, theirs) {
  const found = { headers: [], arrays: {} };
  const walk = (mine, yours, path) => {
    if (isReference(mine) || isReference(yours)) {
      if (JSON.stringify(mine?.shape) !== JSON.stringify(yours?.shape)) found.headers.push(path);
      else found.arrays[path] = distance(ours.array(mine), theirs.array(yours));
    } else if (typeof mine === "number" && typeof yours === "number") {
      found.arrays[path] = distance([mine], [yours]);
    } else if (mine && yours && typeof mine === "object" && typeof yours === "object") {
      for (const key of new Set([...Object.keys(mine), ...Object.keys(yours)]))
        walk(mine[key], yours[key], `${path}/${key}`);
    } else if (mine !== yours) found.headers.push(path);
  };
  walk(ours.header, theirs.header, "");
  return found;
}

// Of 8 bits: how many numbers differ, and by how many steps at most; else the largest difference over the largest number.
function distance(mine, yours) {
  if (mine instanceof Uint8Array) {
    const steps = Array.from(mine, (byte, i) => Math.abs(byte - yours[i]));
    return {
      numbers: steps.length,
      differ: steps.filter(Boolean).length,
      steps: steps.reduce((a, b) => Math.max(a, b), 0),
    };
  }
  const finite = Array.from(yours, Number.isFinite);
  const size = yours.reduce((most, value, i) => (finite[i] ? Math.max(most, Math.abs(value)) : most), 0);
  const error = Array.from(mine, (value, i) => (finite[i] ? Math.abs(value - yours[i]) : Number(value !== yours[i])));
  return { numbers: finite.length, error: error.reduce((a, b) => Math.max(a, b), 0) / (size || 1) };
}

const [jobs] = process.argv.slice(2);
const reports = [];
for (const job of JSON.parse(readFileSync(jobs, "utf8"))) {
  const maker = await makerOf(job);
  const report = {};
  for (const one of job.packs) {
    const theirs = readPack(new Uint8Array(readFileSync(join(dirname(jobs), one.file))));
    report[one.file] = differences(await maker[one.sort](one), theirs);
  }
  reports.push(report);
}
process.stdout.write(JSON.stringify(reports));
