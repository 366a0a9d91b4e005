import { el } from "./dom.js";

// The menu that saves the picture. save: called with one of the formats, each of which has a text `save_<format>`; name:
// of the menu and its buttons in tests. A press anywhere else closes it.
export function makeSaveMenu(t, name, save, formats = ["png", "svg", "csv"]) {
  const choose = (format) => {
    element.open = false;
    save(format);
  };
  const choices = formats.map((format) =>
    el(
      "button",
      { type: "button", "data-testid": `${name}-${format}`, click: () => choose(format) },
      t("save_" + format),
    ),
  );
  const element = el(
    "details",
    { class: "hs-save", "data-testid": name, "data-not-in-link": "" },
    el("summary", null, t("save")),
    el("div", { class: "hs-menu" }, ...choices),
  );
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
