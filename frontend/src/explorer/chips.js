import { el, printable } from "../core/dom.js";
import { arrowStep, moveFocus } from "../core/keys.js";
import { cssColour } from "../core/colour.js";

// The output tokens with their probabilities. One stop of the Tab key; the arrow keys move from token to token.
export class Chips {
  /** @type {HTMLElement[]} */ chips = [];
  constructor(hooks) {
    this.hooks = hooks;
    this.label = el("small", null);
    this.list = el("span", { class: "hs-chip-list", role: "list" });
    this.element = el("div", { class: "hs-chips", "data-testid": "chips" }, this.label, this.list);
    this.list.addEventListener("pointerover", (event) => this.enter(event));
    this.list.addEventListener("pointermove", (event) => this.enter(event));
    this.list.addEventListener("pointerleave", () => this.leave());
    this.list.addEventListener("focusin", (event) => this.enter(event));
    this.list.addEventListener("focusout", () => this.leave());
    this.list.addEventListener("keydown", (event) => this.key(event));
  }

  // recorded: another state of the model is shown; its probabilities of these tokens are not known
  draw(header, theme, recorded) {
    const { t } = this.hooks;
    this.header = header;
    this.recorded = Boolean(recorded);
    this.label.textContent = t(recorded ? "recorded_on" : header.own ? "says" : "gave");
    const { labels, words, special } = header;
    this.chips = labels.target_out.map((text, i) => {
      const word = words.target_out[i];
      const chip = el(
        "span",
        { class: "hs-chip", role: "listitem", tabindex: i === 0 ? "0" : "-1", "data-index": i, dir: "auto" },
        printable(text),
      );
      if (special.target_out[i]) chip.classList.add("hs-chip-special");
      if (i > 0 && words.target_out[i - 1] === word) chip.classList.add("hs-joined");
      if (words.target_out[i + 1] === word) chip.classList.add("hs-joins");
      return chip;
    });
    this.weigh(theme);
    this.list.replaceChildren(...this.chips);
  }

  // Underlines the tokens, the stronger the more probable each was.
  weigh(theme) {
    for (const [i, chip] of this.chips.entries()) {
      const p = this.recorded ? 0 : Math.max(0, Math.min(1, this.header.probabilities[i] || 0));
      chip.style.borderBottomColor = cssColour(theme.hues.decoder_self, (0.08 + 0.92 * p).toFixed(3));
      chip.setAttribute("aria-label", this.describe(i));
    }
  }

  // A translation that is being written.
  write(text) {
    this.label.textContent = this.hooks.t("says");
    this.list.replaceChildren(el("span", { class: "hs-chip hs-writing", dir: "auto" }, printable(text)));
  }

  describe(i) {
    if (this.recorded) return printable(this.header.labels.target_out[i]);
    const p = this.header.probabilities[i];
    const text = printable(this.header.labels.target_out[i]);
    return this.hooks.t("chip", { token: text, p: Number.isFinite(p) ? p.toFixed(p > 0.9995 ? 4 : 3) : "?" });
  }

  indexOf(event) {
    const chip = event.target.closest ? event.target.closest(".hs-chip") : null;
    return chip ? Number(chip.dataset.index) : null;
  }

  enter(event) {
    const i = this.indexOf(event);
    if (i === null) return this.leave();
    const box = this.chips[i].getBoundingClientRect();
    this.hooks.light("target", i);
    return this.hooks.tooltip.show([this.describe(i), this.hooks.step(i)], box.left - 14, box.bottom - 8);
  }

  leave() {
    this.hooks.light("target", null);
    this.hooks.tooltip.hide();
  }

  key(event) {
    if (arrowStep(event)?.[1]) moveFocus(event, this.chips, this.chips.length);
  }
}
