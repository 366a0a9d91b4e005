// The text that folds away below a page, "What am I looking at?".
import { el } from "../../core/dom.js";
import { markup } from "../../core/markup.js";

const PANEL = "panel"; // option of the link
const NAME = "about"; // what it says while the fold is open

/** @param {any} frame what the page gets @param {(string | Node)[][]} paragraphs texts and nodes of each */
export function aboutFold({ t, options }, ...paragraphs) {
  const isAsked = () => options.get(PANEL) === NAME;
  const fold = /** @type {HTMLDetailsElement} */ (
    el(
      "details",
      { class: "hs-fold", "data-testid": "about", open: isAsked() },
      el("summary", null, t("about")),
      ...paragraphs.map((parts) => el("p", null, ...parts)),
    )
  );
  fold.addEventListener("toggle", () => {
    if (fold.open !== isAsked()) options.set(PANEL, fold.open ? NAME : null);
  });
  return fold;
}

/** An equation on one line: *letters* in italics, "^" raises and "_" lowers the word or {the words} after it. */
export function equation(text) {
  return text.split(/([\^_](?:\w+|\{[^}]*\}))/).flatMap((part) => {
    const [sign] = part;
    if (part.length < 2 || (sign !== "^" && sign !== "_")) return markup(part);
    return [el(sign === "^" ? "sup" : "sub", null, ...markup(part.slice(1).replace(/[{}]/g, "")))];
  });
}
