// The engine in the Streamlit app: an invisible component of the page frame. data = {model: its name, "" if the browser
// cannot compute it; quiet: whether the fields keep what is typed for the next run, instead of asking for one; sentence,
// switches, limit: as Live has them}. Reports "engine": the name of the model that the browser computes now, so that Python
// need not; and "typed" when a run is due.
import { Engine } from "../engine/client.js";
import { basePath } from "../host/streamlit.js";
import { appLive, firstPicture, markFresh, markStale } from "./live.js";

const TYPED = "data-hs-typed"; // of the page, while Python does not know the text: hides what is said of the last one
const FIELDS = { source: ".st-key-source input", target: ".st-key-target input" };
const SOON = 1500; // milliseconds from the last key until the address has the text, and a run if something is to be said
const IDLE = 10_000; // the same until a run in any case
const AFTER_PICTURE = 300; // milliseconds from the first picture to the download
const WITHOUT_PICTURE = 5000; // the same on a page that draws none of ours

export default function live({ data, setStateValue, setTriggerValue }) {
  const app = appLive();
  app.tell = (model) => setStateValue("engine", model);
  app.run = () => setTriggerValue("typed", true);
  app.quiet = data.quiet;
  const text = JSON.stringify(data.sentence);
  if (text !== app.given) {
    // Python has a sentence: one that was chosen, or what was typed a moment ago, when the fields may say more already.
    app.given = text;
    const typed = inFields();
    if (!app.typing || (typed.source === data.sentence.source && typed.target === data.sentence.target)) {
      app.typing = false;
      clearTimeout(app.due);
      document.documentElement.toggleAttribute(TYPED, false);
      markFresh();
      app.set({ sentence: data.sentence });
    }
  }
  if (app.quiet && app.typing) wait(); // typed before the fields became quiet
  app.set({ switches: data.switches, limit: data.limit });
  watchFields();
  if (data.model !== app.wanted) load(data.model);
}

function inFields() {
  const value = (side) => /** @type {HTMLInputElement | null} */ (document.querySelector(FIELDS[side]))?.value ?? "";
  return { source: value("source"), target: value("target") };
}

// Listens to the keys in the fields, once a page.
function watchFields() {
  const app = appLive();
  if (app.watching) return;
  app.watching = true;
  document.addEventListener("input", ({ target }) => {
    if (!(target instanceof Element) || !Object.values(FIELDS).some((field) => target.matches(field))) return;
    app.typing = true;
    markStale();
    app.set({ sentence: inFields() });
    if (app.quiet && app.engine) wait();
  });
}

function wait() {
  const app = appLive();
  document.documentElement.toggleAttribute(TYPED, true);
  clearTimeout(app.due);
  app.due = setTimeout(settle, SOON);
}

// After a pause: the address gets the text. Python is asked for a run only where it has something to say of the text, or
// has said something of the last one; and after a longer pause.
async function settle() {
  const app = appLive();
  const address = new URL(window.location.href);
  for (const side of Object.keys(FIELDS)) {
    if (app.sentence[side]) address.searchParams.set(side, app.sentence[side]);
    else address.searchParams.delete(side);
  }
  address.searchParams.delete("cell");
  window.history.replaceState(window.history.state, "", address);
  const sides = Object.values(await app.engine.count(app.sentence));
  const unusual = sides.some(
    ({ tokens, unknown, outside }) => unknown.length || outside?.named.length || tokens > app.limit,
  );
  if (unusual || !app.sentence.source.trim() || document.querySelector(".hs-message")) app.run();
  else app.due = setTimeout(app.run, IDLE - SOON);
}

// Loads a model in idle time, after the first picture.
async function load(model) {
  const app = appLive();
  app.wanted = model;
  app.set({ engine: null });
  if (!model || !Engine.wanted()) return;
  await (drawn ??= firstPicture(AFTER_PICTURE, WITHOUT_PICTURE).then(idle));
  const base = `${basePath()}engine`;
  app.loaded ??= new Engine({ script: `${base}/engine.js`, wasm: `${base}/ort.wasm` });
  try {
    const folder = `${base}/models/${encodeURIComponent(model)}/`;
    const about = await (await fetch(`${folder}web.json`)).json();
    await app.loaded.open({ base: folder, about });
    if (app.wanted !== model) return;
    app.set({ engine: app.loaded });
    app.tell(model);
  } catch {
    app.loaded = null; // the server goes on computing
  }
}

/** @type {Promise<void> | null} */ let drawn = null;
const idle = () =>
  new Promise((resolve) => {
    if (window.requestIdleCallback) window.requestIdleCallback(resolve, { timeout: WITHOUT_PICTURE });
    else setTimeout(resolve, AFTER_PICTURE);
  });
