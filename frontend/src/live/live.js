// What every page knows of the engine, in the Streamlit app (live/component.js) and on the site without a server
// (site/main.js): the engine, and what it is asked for.

/** @typedef {{source: string, target: string}} Sentence */

export class Live {
  /** @type {any} */ engine = null; // of engine/client.js, when it is ready
  /** @type {Sentence} */ sentence = { source: "", target: "" }; // what stands in the fields; no target: the model's
  /** @type {Record<string, string>} */ switches = {}; // of the Lab, as a link writes them
  /** @type {Record<string, string>} */ texts = {}; // English -> the reader's language
  /** @type {any} */ comparison = null; // of lab/comparison.js, which the pictures of a page share
  limit = 128; // tokens of each side
  listeners = new Set();

  // Changes some of the above and tells everybody who listens, if something is new.
  set(changes) {
    const same = (name, value) =>
      name === "engine" ? this.engine === value : JSON.stringify(this[name]) === JSON.stringify(value);
    if (Object.entries(changes).every(([name, value]) => same(name, value))) return;
    Object.assign(this, changes);
    for (const listener of this.listeners) listener();
  }

  // Calls f() after every change; returns a function that stops it.
  onChange(f) {
    this.listeners.add(f);
    return () => this.listeners.delete(f);
  }
}

// That of the app: one for a page, whatever components come and go.
export function appLive() {
  return (window.__headscopeLive ??= new Live());
}

// Ends some milliseconds after the first picture of a page; on a page without one, after so many.
export function firstPicture(after, without) {
  return new Promise((resolve) => {
    document.addEventListener("headscope:drawn", () => setTimeout(resolve, after), { once: true });
    setTimeout(resolve, without);
  });
}

// Errors of the engine that nobody needs to hear of: a newer text came, the fields say what is wrong with a text, or the
// engine ended, which the page is told otherwise.
export const isQuiet = ({ name }) => ["Dropped", "InputError", "EngineError"].includes(name);

// -- old pictures -------------------------------------------------------------------------------------------------------
// A picture that no longer fits the text is dim (core/theme.css): a moment after a key all are, until each says that it
// shows the text in the fields, or until the server has drawn all of them again. A picture that is back within that moment
// does not blink.
const STALE = "--hs-stale";
const DIM = "0.4";
const EVENT = "headscope:stale";
const MOMENT = 100; // milliseconds, which nobody notices
let due = 0; // timer

export function markStale() {
  const { style } = document.documentElement;
  style.removeProperty(STALE);
  document.dispatchEvent(new Event(EVENT));
  clearTimeout(due);
  due = window.setTimeout(() => style.setProperty(STALE, DIM), MOMENT);
}

export function markFresh(element = document.documentElement) {
  const { style } = element;
  if (element === document.documentElement) {
    clearTimeout(due);
    style.removeProperty(STALE);
  } else if (!style.getPropertyValue(STALE)) {
    style.setProperty(STALE, "1");
    document.addEventListener(EVENT, () => style.removeProperty(STALE), { once: true });
  }
}
