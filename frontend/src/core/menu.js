import { buttonEl, el } from "./dom.js";

// A button, `label`, that opens a menu. Escape and a press anywhere else close it.
export function makeMenu(label, attributes, ...content) {
  const element = el("details", attributes, el("summary", null, label), ...content);
  element.classList.add("hs-drop");
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !element.open) return;
    element.open = false;
    element.querySelector("summary").focus();
  });
  const outside = (event) => {
    if (!event.composedPath().includes(element)) element.open = false;
  };
  element.addEventListener("toggle", () => {
    document[element.open ? "addEventListener" : "removeEventListener"]("pointerdown", outside);
  });
  return element;
}

// The menu that saves a picture, in the corner of an element with the class hs-pictured. save: called with one of the
// formats, each of which has a text `save_<format>`; name: of the menu and its buttons in tests.
export function makeSaveMenu(t, name, save, formats = ["png", "svg", "csv"]) {
  const choose = (format) => {
    element.open = false;
    save(format);
  };
  const choices = formats.map((format) =>
    buttonEl({ "data-testid": `${name}-${format}`, click: () => choose(format) }, t("save_" + format)),
  );
  const attributes = { class: "hs-save", "data-testid": name, "data-not-in-link": "" };
  const element = makeMenu(t("save"), attributes, el("div", { class: "hs-menu" }, ...choices));
  return element;
}
