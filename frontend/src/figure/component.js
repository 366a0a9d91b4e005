import { PlainView, plainComponent } from "../host/plain_view.js";
import { FigurePlot } from "./plot.js";
import { FIGURE_TEXTS } from "./texts.js";

// A plotly figure as a Streamlit component. Streamlit's own chart is rebuilt with every change of its data: it loses
// the zoom, flickers, and saves neither SVG nor CSV. data: {figure (JSON text), name, about, told, big, start,
// pick, first, texts}.

const REPORT_PAUSE = 300; // milliseconds from the slider's last move until Python is told

class View extends PlainView {
  constructor(parent) {
    super(parent, "figure", FIGURE_TEXTS, { fitsWindow: true });
    this.element.classList.add("hs-figure");
  }

  destroy() {
    this.plot?.destroy();
    super.destroy();
  }

  // A figure that changed under the slider keeps the slider's position; Python's position counts when it is new; else the
  // one in a figure of this name before the user left it.
  take(before) {
    const { data } = this;
    const same = before && before.name === data.name && before.start === data.start;
    this.start = same ? this.plot.at : (data.start ?? this.memory[data.name]);
    this.figure = JSON.parse(data.figure);
    this.element.dataset.name = data.name;
  }

  build() {
    this.plot?.destroy();
    this.element.removeAttribute("aria-label"); // the figure has its own
    const pick = (at) => this.component.setTriggerValue("pick", at);
    this.plot = new FigurePlot(this.t, (at) => this.moved(at), pick);
    return [this.plot.element];
  }

  paint() {
    const { figure, data, start } = this;
    this.figure = null;
    if (figure) this.plot.show(figure, { ...data, start, picks: data.pick });
    else this.plot.draw();
  }

  moved(at) {
    this.memory[this.data.name] = at;
    this.later(REPORT_PAUSE, () => this.component.setStateValue("frame", at));
  }
}

export default plainComponent(View);
