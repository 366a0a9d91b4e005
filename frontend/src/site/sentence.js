// The sentence pair: two fields, the number of their tokens, and the examples of the model.
import { groups } from "d3-array";
import { buttonEl, el } from "../core/dom.js";
import { makeMenu } from "../core/menu.js";

const SIDES = /** @type {const} */ (["source", "target"]);
const MOST = 4096; // characters of a text, as the app allows for 128 tokens

// frame: see frame.js.
export class SentenceFields {
  constructor(frame) {
    const { t } = frame;
    this.frame = frame;
    this.fields = Object.fromEntries(SIDES.map((side) => [side, this.field(side)]));
    this.labels = Object.fromEntries(SIDES.map((side) => [side, el("span", null)]));
    this.clear = buttonEl(
      { class: "hs-clear", "aria-label": t("clear"), title: t("clear"), click: () => this.empty() },
      "×",
    );
    this.examples = this.menu();
    const column = (side, beside) =>
      el(
        "div",
        { class: `hs-field hs-field-${side}` },
        el("label", { for: `hs-${side}` }, this.labels[side]),
        beside,
        this.fields[side],
      );
    this.element = el(
      "section",
      { class: "hs-sentence" },
      column("source", this.examples),
      column("target", this.clear),
    );
  }

  field(side) {
    return el("input", {
      type: "text",
      id: `hs-${side}`,
      "data-testid": side,
      class: side === "target" ? "hs-own" : null,
      dir: "auto",
      maxlength: MOST,
      autocomplete: "off",
      autocapitalize: "off",
      spellcheck: "false",
      placeholder: this.frame.t(side === "source" ? "type" : "own"),
      input: () => this.frame.type({ [side]: this.fields[side].value }),
    });
  }

  empty() {
    this.frame.type({ target: "" });
    this.fields.target.focus();
  }

  menu() {
    const { frame } = this;
    const { t } = frame;
    const open = (example) => {
      menu.open = false;
      frame.openExample(example);
    };
    const button = (example) =>
      buttonEl(
        { click: () => open(example) },
        el("b", null, frame.translate(example.title)),
        el("span", { dir: "auto" }, example.source),
        el("small", null, frame.translate(example.look)),
      );
    const menu = makeMenu(
      t("examples"),
      { class: "hs-examples", "data-testid": "examples", hidden: !frame.model.examples.length },
      el(
        "div",
        { class: "hs-menu" },
        ...groups(frame.model.examples, (example) => example.group).flatMap(([name, members]) => [
          ...(name ? [el("h3", null, frame.translate(name))] : []),
          ...members.map(button),
        ]),
      ),
    );
    return menu;
  }

  // read: {source: {tokens}, target: {tokens}}; without it the last numbers stay, if there are some.
  draw(read = this.read) {
    this.read = read;
    const { frame, fields, labels } = this;
    const { t, state, model, limit } = frame;
    SIDES.forEach((side, index) => {
      const text = state[side];
      if (fields[side].value !== text) fields[side].value = text;
      const language = frame.translate(model.about.languages[index]);
      const key = side === "target" && !text.trim() ? "target_empty" : read ? side : `${side}_uncounted`;
      const tokens = read?.[side].tokens;
      const label = t(key, { language, limit, used: tokens > 1 ? tokens : 0 }); // not only </s>
      const named = String(model.about.languages) !== "source,target"; // those of a folder that names none
      labels[side].textContent = named ? label : label.replace(` · ${language}`, "");
    });
    this.clear.hidden = !state.target;
  }
}
