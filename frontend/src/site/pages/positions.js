// The position encodings on the site; the page's other parts need the server.
import { el } from "../../core/dom.js";
import { plotlyFile } from "../../host/streamlit.js";
import { Positions } from "../../positions/component.js";
import { livePositions } from "../../positions/live.js";
import { readDims } from "../../positions/numbers.js";
import { POSITIONS } from "../../state/generated.js";
import { SHARED_TEXTS } from "../../state/texts.js";
import { openFile, openPack } from "../files.js";

const PARTS = ["encoding", "distance"];

export const page = {
  name: "positions",
  alone: ["distance"], // reads no sentence
  waiting: () => "waiting",
  parts: () => PARTS.map((name) => [name, SHARED_TEXTS[`part_${name}`]]),

  mount(root, frame) {
    plotlyFile.address = plotlyAddress;
    const { config, name: model } = frame.about;
    const styled = styleDocument();
    if (config.positions === "relative")
      root.append(el("p", { class: "hs-message hs-note" }, frame.t("no_encodings", { model })));
    const place = root.appendChild(el("div"));
    const view = new Positions(place);
    const driver = (view.driver = livePositions(view, frame.live));
    view.component = { setStateValue: (_, values) => report(values) };
    let revision = 0;
    let gone = false;

    const bounded = (value, range) => Math.max(range[0], Math.min(range[1], value));
    const even = (value) => value - (value % 2);
    const usual = () => ({
      ...POSITIONS.start,
      length: POSITIONS.lengths[frame.part],
      d_model: even(bounded(config.d_model, POSITIONS.d_model)),
    });
    const asked = (option, range) => {
      const text = frame.options.get(option) ?? "";
      return bounded(/^\d{1,6}$/.test(text) ? Number(text) : usual()[option], range);
    };

    const values = () => {
      const d_model = even(asked("d_model", POSITIONS.d_model));
      const length = asked("length", POSITIONS.length);
      if (frame.part === "distance")
        return { d_model, length, k: asked("k", [0, length - 1]), q: asked("q", [0, length - 1]) };
      const { found } = readDims(frame.options.get("dims") ?? "", d_model, POSITIONS.curves);
      return { d_model, length, dims: found.length ? found : null };
    };

    const report = (chosen) => {
      const start = { ...usual(), length: view.room(view.tokens) };
      for (const option of ["d_model", "length", "k", "q"])
        if (option in chosen) frame.options.set(option, chosen[option] === start[option] ? null : chosen[option]);
      if ("dims" in chosen) frame.options.set("dims", chosen.dims?.join() ?? null);
    };

    const show = async () => {
      const figures = await (await frame.open(`positions/${frame.language}.json`)).json();
      await styled;
      if (gone) return;
      const layout = config.positions === "sinusoidal" && config.layout !== "interleaved" ? config.layout : "";
      const about = { model, own: config.d_model, layout, tokens: [], big: frame.view.big, texts: frame.texts };
      driver.show({ ...about, part: frame.part, figures, values: values(), revision: ++revision });
    };

    show();
    return {
      show,
      destroy() {
        gone = true;
        view.destroy();
        styled.then((style) => style.remove());
      },
    };
  },
};

async function plotlyAddress() {
  return URL.createObjectURL(new Blob([await openPack("plotly.js")], { type: "text/javascript" }));
}

// plotly writes its styles into the document, so the picture is not shut off from it; the site's own styles come after these.
async function styleDocument() {
  const text = await (await openFile("positions.css")).text();
  const style = el("style", null, text);
  document.head.prepend(style);
  return style;
}
