import { PlainView, plainComponent } from "../host/plain_view.js";
import { savingMenu } from "./menu.js";

// The menu of a picture that Python writes as HTML: pages/components/saving.py. data = {target: class of the element,
// name: of the menu in tests, stem, caption, rows, big, texts}.
class View extends PlainView {
  constructor(parent) {
    super(parent, "saving", {});
  }

  build() {
    this.element.removeAttribute("aria-label");
    const about = () => ({ ...this.data, element: document.querySelector(`.${CSS.escape(this.data.target)}`) });
    return [savingMenu(this, this.data.name, about)];
  }

  paint() {}
}

export default plainComponent(View);
