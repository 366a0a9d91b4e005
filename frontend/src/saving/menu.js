import { makeSaveMenu } from "../core/menu.js";
import { el } from "../core/dom.js";
import { csvText, fileStem, savePicture, svgFile } from "../core/save.js";
import { elementSvg } from "../core/snapshot.js";
import { makeTexts } from "../core/texts.js";
import { SAVING_TEXTS } from "./texts.js";

// The menu of a picture that is made of HTML: it saves what an element shows. view: a PlainView, whose data have texts;
// name: of the menu in tests; about: returns {element, stem: parts of the name, caption: a text or several, rows: of the
// table}.
export function savingMenu(view, name, about) {
  const save = (format) => {
    const { element, stem, caption, rows } = about();
    return savePicture(fileStem(["headscope", ...stem]), format, {
      svg: () => svgFile({ theme: view.theme, caption, ...elementSvg(element) }),
      csv: () => csvText(rows),
    });
  };
  return makeSaveMenu(makeTexts(view.data.texts, SAVING_TEXTS), name, save);
}

// An element with the menu that saves it in its corner; about: as for savingMenu, without the element if it is this one.
export function savable(view, name, element, about) {
  element.dataset.savedBy = name;
  const menu = savingMenu(view, name, () => ({ element, ...about() }));
  return el("div", { class: "hs-pictured" }, element, menu);
}
