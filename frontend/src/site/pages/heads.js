// The page Heads: every head of the sentence, and one of them large.
import { buttonEl, el } from "../../core/dom.js";
import { markup } from "../../core/markup.js";
import { readPack } from "../../core/pack.js";
import { layersOf } from "../../engine/switches.js";
import { Explorer } from "../../explorer/explorer.js";
import { liveExplorer } from "../../explorer/live.js";
import { markFresh } from "../../live/live.js";
import { SHARED_TEXTS } from "../../state/texts.js";
import { wordMeanings } from "../meanings.js";
import { aboutFold, equation } from "./about.js";
import { RecordedTraining } from "./formation.js";

const FIRST = "attention-in-10-minutes"; // the lesson for a person who has never seen any of it

export const page = {
  name: "heads",
  waiting: () => "waiting_page",
  mount(root, frame) {
    const { live, texts, model, meanings } = frame;
    const lead = el("p", { class: "hs-look-for", tabindex: "0", "data-testid": "look-for" });
    const box = el("div");
    const above = el("div");
    root.append(lead, above, box, aboutHeads(frame));
    const explorer = new Explorer(frame.shadow(box, "explorer"), {
      calm: true,
      onState: (state) => {
        frame.setView(state);
        tell();
      },
      onFormation: (open) => training.toggle(open),
    });
    const training = new RecordedTraining(frame.shadow(above, "formation"), frame, explorer, () => tell());
    const show = ({ header, array }) => {
      explorer.show({ header: { ...header, meanings: wordMeanings(header, meanings) }, array });
      if (header.kinds.cross) training.show(header); // not of a pass that is not over
    };
    const about = { texts, recorded: model.recorded, alignment: model.alignment, wording: wordingOf(model.about) };
    const { stop } = liveExplorer(explorer, live, about, show);
    explorer.setState(frame.view);

    const tell = () => {
      const look = training.open ? "" : frame.example?.look; // it is about the trained model
      const first = frame.view.sight !== "all";
      lead.classList.toggle("hs-first-lead", first);
      const begin = { class: "hs-start", click: () => frame.openLesson(FIRST) };
      const start = frame.teaches ? buttonEl(begin, frame.t("first_start")) : "";
      if (first)
        lead.replaceChildren(
          frame.t("first_lead", { n: layersOf(model.about.config, "cross") * model.about.config.heads }),
          start,
        );
      else if (look) lead.replaceChildren(el("b", null, frame.t("look")), " ", frame.translate(look));
      else lead.replaceChildren(frame.t("heads_lead"));
    };
    const stopTelling = live.onChange(tell);
    tell();

    // Until the model is here.
    const showRecorded = async () => {
      const packs = await frame.recorded();
      if (!packs || live.engine) return;
      const { header, array } = readPack(packs[0]);
      show({ header: { ...header, ...about, state: undefined }, array });
      explorer.feed(packs[1]);
      markFresh(explorer.element);
    };
    showRecorded();
    return {
      show() {
        explorer.setState(frame.view);
        training.show();
        if (!live.engine) showRecorded();
      },
      destroy() {
        stopTelling();
        stop();
        training.destroy();
        explorer.destroy();
      },
    };
  },
};

// As `wording` of transformer/view/pack.py.
const wordingOf = ({ config }) =>
  config.causal ? {} : { kind_decoder_self: SHARED_TEXTS.no_mask, chip: SHARED_TEXTS.chip_uncausal };

const ATTENTION = "Attention(*Q*, *K*, *V*) = softmax(*QK*^T / √*d*_k) *V*";

// As `about` of pages/heads/page.py.
function aboutHeads(frame) {
  const { t, about, model } = frame;
  const told = ["about_squares", null, about.config.causal ? "about_kinds" : "about_kinds_uncausal"];
  if (model.recorded) told.push("about_formation");
  return aboutFold(frame, ...told.map((name) => (name ? markup(t(name)) : equation(ATTENTION))));
}
