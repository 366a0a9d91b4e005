// Where an answer is given.
import { buttonEl, el } from "../core/dom.js";
import { isPressed, numberIn, numbersIn } from "./questions.js";

const LONGEST = { text: 400, number: 60, shape: 60 }; // letters
const LONG = 20; // letters of an option
const EXAMPLE_SHAPE = "[2, 3, 4, 5]";

/**
 * The fields of a question's form. read() returns the answer: a text, or for "order" a list; or {missing: key of texts.js,
 * values} of one that is none.
 * @param {any} t
 * @param {import("./questions.js").Question} question
 * @param {import("./questions.js").Asked} asked
 * @param {{label: (option: string) => string, pressed: () => string}} with_ label: an option as the reader reads it;
 * pressed: what is chosen in the picture
 * @returns {{element: HTMLElement, read: () => any}}
 */
export function makeFields(t, question, asked, { label, pressed }) {
  const { kind } = question;
  if (kind === "choose") return makeChoice(t, asked.options, label);
  if (kind === "order") return makeOrder(t, asked.options, label);
  if (isPressed(kind))
    return { element: el("p", null, t("pressed")), read: () => pressed() || { missing: "missing_pressed" } };
  return makeText(t, kind);
}

/** The class of options as cards (pages/frame/question.css); a phone shows sentences one below the other. */
export const cardsOf = (options) => `hs-cards${options.some((option) => option.length > LONG) ? " hs-long" : ""}`;

function makeChoice(t, options, label) {
  const radio = (option, at) =>
    el("label", null, el("input", { type: "radio", name: "answer", value: at }), el("span", null, label(option)));
  const element = el("fieldset", { class: cardsOf(options), "aria-label": t("prediction") }, ...options.map(radio));
  const chosen = () => /** @type {HTMLInputElement} */ (element.querySelector("input:checked"))?.value;
  return { element, read: () => options[chosen()] ?? { missing: "missing_choose" } };
}

// The options stand in another order than the right one; each press adds one at the end, or takes it out again.
function makeOrder(t, options, label) {
  let chosen = [];
  const press = (option) => {
    chosen = chosen.includes(option) ? chosen.filter((one) => one !== option) : [...chosen, option];
    for (const [button, one] of buttons) {
      const place = chosen.indexOf(one) + 1;
      button.setAttribute("aria-pressed", String(place > 0));
      button.firstElementChild.textContent = place ? `${place}.` : "";
    }
  };
  const button = (option) =>
    buttonEl({ "aria-pressed": "false", click: () => press(option) }, el("b"), " ", label(option));
  const buttons = [...options].sort().map((option) => /** @type {const} */ ([button(option), option]));
  const values = () => ({ count: chosen.length, total: options.length });
  return {
    element: el(
      "fieldset",
      { class: "hs-lesson-order" },
      el("legend", null, t("order")),
      ...buttons.map(([one]) => one),
    ),
    read: () => (chosen.length === options.length ? chosen : { missing: "missing_order", values: values() }),
  };
}

function makeText(t, kind) {
  const common = { "aria-label": t("prediction"), maxlength: LONGEST[kind], autocomplete: "off" };
  const placeholder = { number: t("a_number"), shape: EXAMPLE_SHAPE }[kind];
  const element =
    kind === "text"
      ? el("textarea", { ...common, rows: 3 })
      : el("input", { ...common, type: "text", placeholder, inputmode: kind === "number" ? "decimal" : null });
  const read = () => {
    const text = element.value.trim();
    if (!text) return { missing: "missing_text" };
    const sound =
      { number: () => numberIn(text) !== null, shape: () => numbersIn(text).length > 0 }[kind] ?? (() => true);
    return sound() ? text : { missing: `missing_${kind}`, values: { text } };
  };
  return { element, read };
}
