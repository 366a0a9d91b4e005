import { bisector } from "d3-array";

// The browser's data of running trainings: all frames it was given, in order, and the status of each run.

const ACTIVE = ["waiting", "starting", "training", "paused"];
const WINDOW = 8000; // milliseconds over which speed is measured
const byStep = bisector((frame) => frame.step);
export const SLOTS = 4; // styles of runs: a colour, a dash and a mark each

export class RunStore {
  constructor() {
    this.runs = [];
    this.more = {};
  }

  run(id) {
    return this.runs.find((run) => run.id === id) || null;
  }

  get active() {
    return this.runs.some((run) => run.active);
  }

  get lacks() {
    return this.runs.some((run) => run.lacks);
  }

  have() {
    return Object.fromEntries(this.runs.map((run) => [run.id, run.frames.length]));
  }

  // pack: of readPack. Returns the ids of runs with new frames, and the pack's number.
  take({ header, array }, now = performance.now()) {
    const before = this.runs;
    this.more = header.more || {};
    const news = { grown: [], number: header.number || 0 };
    this.runs = header.runs.map((runData) => before.find((run) => run.id === runData.id) || new Run(runData.id));
    for (const run of this.runs) if (run.slot < 0) run.slot = this.freeSlot();
    header.runs.forEach((runData, i) => {
      if (this.runs[i].take(runData, array, now)) news.grown.push(runData.id);
    });
    return news;
  }

  // A run keeps its style when others are removed.
  freeSlot() {
    const used = this.runs.map((run) => run.slot);
    for (let slot = 0; slot < SLOTS; slot++) if (!used.includes(slot)) return slot;
    return this.runs.length % SLOTS;
  }
}

export class Run {
  constructor(id) {
    this.id = id;
    this.slot = -1;
    this.about = null;
    this.opening = null;
    this.frames = [];
    this.weights = []; // bytes of each frame
    this.pace = []; // [milliseconds, step] of the last packs, for the speed
  }

  get active() {
    return ACTIVE.includes(this.about.stage);
  }

  get last() {
    return this.frames.length - 1;
  }

  // Takes over what a pack says of this run. Frames count only if they follow those that are here: after a gap they are
  // dropped, and `lacks` says that they must be requested again.
  take(about, array, now) {
    const count = this.frames.length;
    if (about.opening) this.setOpening(about.opening);
    if (this.opening && about.weights && about.from <= count) {
      const bytes = array(about.weights);
      const size = about.weights.shape[1];
      for (let i = count - about.from; i < about.frames.length; i++) {
        this.frames.push(about.frames[i]);
        this.weights.push(bytes.subarray(i * size, (i + 1) * size));
      }
    }
    this.lacks = about.recorded > this.frames.length;
    this.follow(about, now);
    const { frames, weights, opening, ...rest } = about;
    this.about = rest;
    return this.frames.length > count;
  }

  setOpening(opening) {
    this.opening = opening;
    this.shownKey = JSON.stringify(opening.shown); // runs of one task and seed show the same inputs
    const [source, target] = [opening.source_tokens.length, opening.target_in.length];
    const sizes = { encoder_self: [source, source], decoder_self: [target, target], cross: [target, source] };
    let start = 0;
    this.kinds = {};
    for (const [kind, [rows, columns]] of Object.entries(sizes)) {
      this.kinds[kind] = { start, rows, columns, mask: null };
      start += opening.layers * opening.heads * rows * columns;
    }
  }

  // 1 if the causal mask hides a cell, or null: only decoder self-attention has a causal mask.
  mask(kind) {
    const kindData = this.kinds[kind];
    if (kind !== "decoder_self" || !this.about.causal) return null;
    kindData.mask ??= Uint8Array.from({ length: kindData.rows * kindData.columns }, (_, i) =>
      Number(i % kindData.columns > Math.floor(i / kindData.columns)),
    );
    return kindData.mask;
  }

  // Bytes of one head in one frame, row after row.
  matrix(index, kind, layer, head) {
    const { start, rows, columns } = this.kinds[kind];
    const from = start + (layer * this.opening.heads + head) * rows * columns;
    return this.weights[index].subarray(from, from + rows * columns);
  }

  // The index of the last frame at or before a step.
  frameAt(step) {
    return Math.max(0, byStep.right(this.frames, step) - 1);
  }

  // The last value of a number up to a frame: losses and matches are not measured at every frame.
  latest(name, index) {
    for (let i = Math.min(index, this.last); i >= 0; i--) {
      const value = this.frames[i][name];
      if (typeof value === "number") return value;
    }
    return null;
  }

  // Steps per second over the last seconds, measured here, without pauses and other stages.
  follow(about, now) {
    const training = about.stage === "training";
    if (!training) {
      this.pace = [];
      return;
    }
    if (this.pace.length && this.pace[this.pace.length - 1][1] === about.step) return;
    this.pace.push([now, about.step]);
    while (this.pace.length > 2 && now - this.pace[0][0] > WINDOW) this.pace.shift();
  }

  get speed() {
    if (this.pace.length < 2) return null;
    const [[began, first], [ended, last]] = [this.pace[0], this.pace[this.pace.length - 1]];
    return ended - began > 300 ? (1000 * (last - first)) / (ended - began) : null;
  }

  // Seconds until its last step. The limit is in seconds of a core, which a busy machine makes longer.
  get left() {
    const { speed, about } = this;
    return speed ? Math.max(0, (about.steps - about.step) / speed) : null;
  }
}
