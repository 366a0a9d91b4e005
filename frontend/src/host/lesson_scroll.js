// At a new stop of a lesson, and when its answer is shown: the panel goes to its top, and the page to what the stop
// lights, if most of that is out of sight, of a picture of heads to the chosen one; on a phone the panel covers the lower
// part. A person who scrolls or presses something meanwhile is left where they are. data = {at, since, lit}. at: names the
// stop and what is shown of it; since: the time of that, because Streamlit may draw an older one again after a newer one.
// lit: a selector of what to look at, "" for the top of the page. A field for a number gets the keyboard for numbers,
// which Streamlit cannot ask for.
import { hiddenBy, lookOften } from "../lesson/scroll.js";

const TRIES = 100; // looks, 100 milliseconds apart, until the page has been drawn
const MORE = 20; // looks after that: figures get their height later
let last = { at: "", since: 0 };

export default function lessonScroll({ data }) {
  if (!last.at) new MutationObserver(askForNumbers).observe(document.body, { childList: true, subtree: true });
  askForNumbers();
  if (data.at === last.at || data.since < last.since) return;
  last = data;
  const main = document.querySelector("[data-testid=stMain]");
  const panel = document.querySelector(".st-key-hs-lesson");
  if (!main || !panel) return;
  panel.scrollTop = 0;
  lookOften(TRIES, (left) => {
    const drawn = !!document.querySelector("[data-testid=stApp][data-test-script-state=notRunning]");
    const target = drawn && found(data.lit);
    if (target) main.scrollTop += hiddenBy(target.getBoundingClientRect(), panel.getBoundingClientRect(), covered());
    if (!drawn || data.lit) return Math.min(left - 1, target ? MORE : TRIES);
    main.scrollTop = 0;
    return -1;
  });
}

// Whenever something is drawn, because Streamlit may draw the field later or anew.
function askForNumbers() {
  for (const field of document.querySelectorAll(".st-key-hs-number input")) field.setAttribute("inputmode", "decimal");
}

function found(lit) {
  const block = lit && document.querySelector(lit);
  if (!block || !block.clientHeight || !document.querySelector(".st-key-hs-lesson")) return null;
  const pictures = [...block.querySelectorAll("[data-testid^=stBidiComponent]")];
  const boxes = pictures.map((picture) => picture.shadowRoot?.querySelector(".hs-head-box"));
  return boxes.find((box) => box?.clientHeight) || block;
}

// Pixels of a bar that stays above what scrolls.
function covered() {
  const bar = document.querySelector(".st-key-hs-room")?.parentElement;
  return bar && getComputedStyle(bar).position === "sticky" ? bar.offsetHeight : 0;
}
