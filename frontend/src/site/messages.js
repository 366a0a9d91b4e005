// What the frame says under the sentence, in groups: each is replaced by what is said of the same matter next.
import { buttonEl, el } from "../core/dom.js";

const GROUPS = ["link", "page", "switches", "text", "model"];

/** kind: "error", "warning", "note" or "quiet"; press: text of a button, and what it does.
 * @typedef {{kind: string, text: string, press?: [string, () => void]}} Message */

export class Messages {
  constructor() {
    this.groups = GROUPS.map((name) => el("div", { "data-about": name }));
    this.element = el("div", { class: "hs-said", role: "status", "data-testid": "messages" }, ...this.groups);
  }

  /** @param {string} group @param {Message[]} messages */
  say(group, messages) {
    const lines = messages.map(({ kind, text, press }) => {
      const button = press && buttonEl({ class: "hs-button", click: press[1] }, press[0]);
      return el("p", { class: `hs-message hs-${kind}`, dir: "auto" }, text, " ", button);
    });
    const place = this.groups[GROUPS.indexOf(group)];
    if (place.textContent !== lines.map((line) => line.textContent).join("")) place.replaceChildren(...lines);
  }
}
