// Shows a recorded state of a training instead of a trace's weights. Tokens, labels and masks come from the trace, the
// weights from the recorded bytes. There are no exact numbers: no q, no k, no fourth decimal.
function recordedModel(live, { bytes, step, last, habits }) {
  const model = Object.create(live);
  model.recorded = { step, last, habits };
  model.exact = new Map();
  model.cache = new Map();
  model.kinds = Object.fromEntries(
    Object.entries(live.kinds).map(([kind, kindData]) => [kind, { ...kindData, bytes: bytes[kind] }]),
  );
  return model;
}

const RECORDED_HABITS = ["previous", "same", "next", "aligned_out", "aligned_in"]; // as formation_pack.py has them

// Where a head had its largest weight at a recorded state, over all recorded sentences: [{name, percent}], for the
// habits that could be measured.
export function habitsOf(model, kind, layer, head) {
  const { shares } = model.recorded.habits;
  const count = RECORDED_HABITS.length;
  const from = (layer * model.kinds[kind].heads + head) * count;
  // In cross-attention positions cannot be compared: source and target count separately.
  const names = kind === "cross" ? RECORDED_HABITS.slice(3) : RECORDED_HABITS.slice(0, 3);
  return names
    .map((name) => ({ name, percent: shares[kind][from + RECORDED_HABITS.indexOf(name)] }))
    .filter((habit) => habit.percent <= 100);
}

// Whether a state has as many bytes as the pictures of a trace.
function fitsRecorded(live, { id, bytes }) {
  if (!bytes || id !== live.id) return false;
  return Object.entries(live.kinds).every(
    ([kind, kindData]) => bytes[kind] && bytes[kind].length === kindData.bytes.length,
  );
}

// What an explorer shows: the trace, or a recorded state of it.
export function shownModel({ live, training, states }) {
  if (!training || !fitsRecorded(live, training)) return live;
  if (!states.has(training)) states.set(training, recordedModel(live, training));
  return states.get(training);
}

// Shows a recorded state of the training, {id, step, last, bytes}, instead of its trace; null: shows the trace.
export function takeRecorded(explorer, state) {
  const tall = (training) => (training ? 1 + Number(Boolean(training.bytes)) : 0);
  const moved = tall(state) !== tall(explorer.training); // the slider appeared, disappeared or changed its text: the space changed
  explorer.training = state;
  if (!explorer.live) return;
  const before = explorer.model;
  explorer.model = shownModel(explorer);
  if (moved) explorer.draw();
  else if (explorer.model !== before) explorer.drawModel();
  if (!state) explorer.schedule(); // once more when the slider has left the page
}
