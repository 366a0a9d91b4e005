import { buttonEl, el } from "../core/dom.js";
import { dataAddress } from "../core/save.js";
import { TRAINING_TEXTS } from "./texts.js";
import { LARGEST_FILE } from "../state/generated.js";
import { PlainView, plainComponent } from "../host/plain_view.js";

// A file from the user's machine, as the trigger "file" {name, data in base64}: the app's upload address stays closed.
// data = {label, accept, big, texts}.

class TrainingFile extends PlainView {
  constructor(parent) {
    super(parent, "training-file", TRAINING_TEXTS);
    this.element.classList.add("learn");
  }

  build() {
    this.element.setAttribute("aria-label", this.t("file_region"));
    this.input = el("input", { type: "file", "data-testid": "training-file-input", change: () => this.read() });
    this.button = buttonEl({ class: "hs-press", click: () => this.input.click() });
    this.says = el("p", { role: "status" });
    return [el("div", { class: "learn-file" }, this.button, this.input, this.says)];
  }

  paint() {
    this.button.textContent = this.data.label || this.t("file_choose");
    this.input.setAttribute("aria-label", this.button.textContent);
    this.input.accept = this.data.accept || "";
  }

  say(key, values, bad) {
    this.says.textContent = key ? this.t(key, values) : "";
    this.says.toggleAttribute("data-bad", Boolean(bad));
  }

  async read() {
    const [file] = this.input.files;
    if (!file) return;
    const { name } = file;
    if (file.size > LARGEST_FILE) {
      const size = (file.size / 1e6).toFixed(1);
      this.say("file_large", { name, size, most: LARGEST_FILE / 1e6 }, true);
      this.input.value = "";
      return;
    }
    this.say("file_reading", { name });
    try {
      const [, data = ""] = (await dataAddress(file)).split(",");
      this.component.setTriggerValue("file", { name, data });
      this.say("");
    } catch {
      this.say("file_failed", { name }, true);
    }
    this.input.value = ""; // the same file can be chosen again
  }
}

export default plainComponent(TrainingFile);
