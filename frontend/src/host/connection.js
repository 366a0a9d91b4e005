// Tells a person that the connection to the server is lost, and that it comes back by itself. Streamlit says so in a
// header that this app does not have, and after some seconds in a dialog in English that covers the page and speaks to
// the programmer; that one is closed.
const LOOK = 500; // milliseconds between two looks
const PATIENCE = 1500; // a phone that wakes is connected again by then
const ANSWER = 5000; // milliseconds that the server has to answer
const STREAMLIT = "[data-testid=stApp]";
const DIALOG = "[data-testid=stDialog]";
const ITS_TITLE = "Connection error";

// sentence: what to say. Called with every run; watches once a page.
export function watchConnection(sentence) {
  const watch = (window.__headscopeConnection ??= start());
  watch.sentence = sentence;
  watch.show();
}

function start() {
  const box = document.createElement("div");
  box.className = "hs-lost";
  box.setAttribute("role", "status"); // there before it says something, so that screen readers say it
  document.body.append(box);
  const watch = { sentence: "", since: Infinity, unreachable: false, show };
  let asking = false;

  function show() {
    const lost = watch.unreachable || performance.now() - watch.since >= PATIENCE;
    const text = lost ? watch.sentence : "";
    if (box.textContent !== text) box.textContent = text;
  }

  function look() {
    const state = /** @type {HTMLElement | null} */ (document.querySelector(STREAMLIT))?.dataset.testConnectionState;
    if (state === "CONNECTED") watch.since = Infinity;
    else if (watch.since === Infinity) watch.since = performance.now();
    if (state !== "CONNECTED") closeDialog();
    else if (watch.unreachable || !navigator.onLine) ask();
    show();
  }

  // A device without network does not close its connections. The server may be the device itself, which needs none.
  async function ask() {
    if (asking) return;
    asking = true;
    try {
      const address = new URL("_stcore/health", document.baseURI);
      await fetch(address, { cache: "no-store", signal: AbortSignal.timeout(ANSWER) });
      watch.unreachable = false;
    } catch {
      watch.unreachable = true;
    }
    asking = false;
    show();
  }

  setInterval(look, LOOK);
  window.addEventListener("offline", look);
  return watch;
}

function closeDialog() {
  for (const dialog of document.querySelectorAll(DIALOG))
    if (dialog.textContent.startsWith(ITS_TITLE))
      /** @type {HTMLElement | null} */ (dialog.querySelector("button[aria-label=Close]"))?.click();
}
