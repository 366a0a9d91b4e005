// A recorded state of a training in the place of a trace's own weights: tokens, labels and masks are the trace's, the
// weights those bytes, and there is nothing exact: no q, no k, no fourth decimal.
function recordedModel(live, { bytes, step, last, habits }) {
  const model = Object.create(live);
  model.recorded = { step, last, habits };
  model.exact = new Map();
  model.cache = new Map();
  model.kinds = Object.fromEntries(
    Object.entries(live.kinds).map(([kind, about]) => [kind, { ...about, bytes: bytes[kind] }]),
  );
  return model;
}

const RECORDED_HABITS = ["previous", "same", "next", "aligned"]; // as formation_pack.py has them

// Where a head had its largest weight at a recorded state, over all recorded sentences: [{name, percent}], what could
// be measured.
export function habitsOf(model, kind, layer, head) {
  const { shares } = model.recorded.habits;
  const many = RECORDED_HABITS.length;
  const from = (layer * model.kinds[kind].heads + head) * many;
  // Of cross-attention places mean nothing: source and target count apart.
  const wanted = kind === "cross" ? ["aligned"] : RECORDED_HABITS.slice(0, 3);
  return wanted
    .map((name) => ({ name, percent: shares[kind][from + RECORDED_HABITS.indexOf(name)] }))
    .filter((one) => one.percent <= 100);
}

// Whether a state has the bytes that a trace's picture has.
function fitsRecorded(live, { id, bytes }) {
  if (!bytes || id !== live.id) return false;
  return Object.entries(live.kinds).every(([kind, about]) => bytes[kind] && bytes[kind].length === about.bytes.length);
}

// What an explorer shows: the trace, or the recorded state of it that it was given.
export function shownModel({ live, training, states }) {
  if (!training || !fitsRecorded(live, training)) return live;
  if (!states.has(training)) states.set(training, recordedModel(live, training));
  return states.get(training);
}

// A recorded state of the training, {id, step, last, bytes}, takes the place of the trace it is of; null: the trace.
export function takeRecorded(explorer, state) {
  const tall = (one) => (one ? 1 + Number(Boolean(one.bytes)) : 0);
  const moved = tall(state) !== tall(explorer.training); // the slider came or went, or says something else: other room
  explorer.training = state;
  if (!explorer.live) return;
  const before = explorer.model;
  explorer.model = shownModel(explorer);
  if (moved) explorer.draw();
  else if (explorer.model !== before) explorer.drawModel();
  if (!state) explorer.schedule(); // told to go once more when the slider has left the page
}
