// The anatomy's drawing on the site; its other parts need the server. Options of its link are those of
// pages/anatomy/drawing.py.
import { linkOfState, stateOfLink } from "../../anatomy/link.js";
import { liveAnatomy } from "../../anatomy/live.js";
import { AnatomyView } from "../../anatomy/view.js";
import { el } from "../../core/dom.js";
import { markup } from "../../core/markup.js";
import { readPack } from "../../core/pack.js";
import { needsServer } from "../../engine/switches.js";
import { refusedSwitches } from "../../lab/check.js";
import { aboutFold } from "./about.js";

export const page = {
  name: "anatomy",

  mount(root, frame) {
    const { live, options, about, t } = frame;
    if (!frame.model.anatomy) {
      root.append(el("p", { class: "hs-point" }, t("no_anatomy")));
      return { show() {}, destroy() {} };
    }
    const read = async (name) => readPack(await frame.pack(name));
    const first = read("anatomy.pack"); // what the drawing needs of the model, and its first example
    let revision = 0;

    // The switches of the link that the drawing shows, and the others.
    const sorted = () => {
      const out = [
        ...refusedSwitches(live.switches, about.config),
        ...needsServer(live.switches, about).map(([name]) => name),
      ];
      const of = (wanted) => Object.entries(live.switches).filter(([name]) => out.includes(name) === wanted);
      return { switches: Object.fromEntries(of(false)), refused: Object.fromEntries(of(true)) };
    };

    const report = ({ switches, revision: _, ...state }) => {
      for (const [name, text] of Object.entries(linkOfState(state))) options.set(name, text);
      const asked = sorted();
      if (JSON.stringify(switches) !== JSON.stringify(asked.switches))
        frame.setSwitches({ ...asked.refused, ...switches });
    };

    const show = async () => {
      const { header: known, array } = await first;
      const { head, big } = frame.view;
      const state = stateOfLink((name) => options.get(name), known.config, Number.isInteger(head) ? head : 0);
      const { switches, refused } = sorted();
      const begins = { ...state, big, revision: ++revision };
      const header = { ...known, switches, refused, texts: frame.texts, state: begins };
      const recorded = !live.engine && isOf(known, live) && !Object.keys(switches).length;
      view.take({ header: { ...header, sort: recorded ? "trace" : "facts" }, array });
      if (recorded) view.take(await read("anatomy-open.pack")); // until the model is here
    };

    const box = el("div");
    const drawn = about.config.residual ? "about_anatomy" : "about_anatomy_without_residual";
    // As `about` of pages/anatomy/drawing.py, whose equations the drawing's panel has.
    root.append(box, aboutFold(frame, ...[drawn, "about_anatomy_use"].map((name) => markup(t(name)))));
    const view = new AnatomyView(frame.shadow(box, "anatomy"), report);
    const stop = liveAnatomy(view, live);
    show();
    return {
      show,
      destroy() {
        stop();
        view.destroy();
      },
    };
  },
};

// Whether a pack of the server shows the sentence.
const isOf = ({ sort, sentences, own }, { sentence }) =>
  sort === "trace" && sentences.source === sentence.source && (own ? "" : sentences.target) === sentence.target;
