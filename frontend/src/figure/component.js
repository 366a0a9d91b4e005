import { keepMounted, memoryOf } from "../host/streamlit.js";
import { followLook } from "../core/look.js";
import { makeTexts } from "../core/texts.js";
import { el } from "../core/dom.js";
import { readTheme } from "../core/colour.js";
import { FigurePlot } from "./plot.js";
import { FIGURE_TEXTS } from "./texts.js";

// A plotly figure as a Streamlit component. Streamlit's own chart is rebuilt with every change of its data: it loses
// the zoom, flickers, and saves neither SVG nor CSV. data: {figure (JSON text), name, about, told, big, start,
// pick, first, texts}.

const REPORT_PAUSE = 300; // milliseconds from the slider's last move until Python is told

class View {
  /** @type {any} */ component;
  constructor(parent) {
    this.element = el("section", { class: "hs hs-figure", "data-testid": "figure" });
    parent.append(this.element);
    this.look = followLook(
      this.element,
      () => this.retheme(),
      () => this.plot && this.plot.draw(),
      { fitsWindow: true },
    );
    this.retheme();
  }

  retheme() {
    this.element.dataset.theme = readTheme(this.element).dark ? "dark" : "light";
    if (this.plot) this.plot.draw();
  }

  destroy() {
    clearTimeout(this.reporting);
    this.look.stop();
    if (this.plot) this.plot.destroy();
    this.element.remove();
  }

  // The last slider position in a figure of this name, for when the user comes back.
  get memory() {
    return memoryOf("figures");
  }

  show(data) {
    const text = data && JSON.stringify(data);
    if (!data || text === this.text) return;
    const before = this.data;
    this.text = text;
    this.data = data;
    this.element.toggleAttribute("data-big", Boolean(data.big));
    this.element.dataset.name = data.name;
    if (!this.plot) {
      this.plot = new FigurePlot(
        makeTexts(data.texts, FIGURE_TEXTS),
        (at) => this.moved(at),
        (at) => this.component.setTriggerValue("pick", at),
      );
      this.element.append(this.look.sentinel, this.plot.element);
    }
    const figure = JSON.parse(data.figure);
    // A figure that changed under the slider keeps the slider's position; Python's position counts when it is new.
    const same = before && before.name === data.name && before.start === data.start;
    const start = same ? this.plot.at : (data.start ?? this.memory[data.name]);
    this.plot.show(figure, {
      name: data.name,
      big: data.big,
      start,
      picks: data.pick,
      first: data.first,
      about: data.about,
      told: data.told,
    });
  }

  moved(at) {
    this.memory[this.data.name] = at;
    clearTimeout(this.reporting);
    this.reporting = setTimeout(() => this.component.setStateValue("frame", at), REPORT_PAUSE);
  }
}

export default function (component) {
  const { kept, leave } = keepMounted(component, (parent) => new View(parent));
  kept.show(component.data);
  return leave;
}
