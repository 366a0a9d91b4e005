// The page Heads: every head of the sentence, and one of them large.
import { el } from "../../core/dom.js";
import { markup } from "../../core/markup.js";
import { readPack } from "../../core/pack.js";
import { makeTexts } from "../../core/texts.js";
import { mountExplorer } from "../../explorer/explorer.js";
import { liveExplorer } from "../../explorer/live.js";
import { markFresh } from "../../live/live.js";
import { SHARED_TEXTS } from "../../state/texts.js";
import { wordMeanings } from "../meanings.js";
import { RecordedTraining } from "./formation.js";

const FIRST = "attention-in-10-minutes"; // the lesson for a person who has never seen any of it

export const page = {
  name: "heads",
  mount(root, frame) {
    const { live, texts, model, meanings } = frame;
    const lead = el("p", { class: "hs-look-for", tabindex: "0", "data-testid": "look-for" });
    const box = el("div");
    const above = el("div");
    root.append(lead, above, box, aboutHeads(frame));
    const explorer = mountExplorer(frame.shadow(box, "explorer"), {
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
    const { stop } = liveExplorer({ ...explorer, show }, live, about);
    explorer.setState(frame.view);

    const tell = () => {
      const look = training.open ? "" : frame.example?.look; // it is about the trained model
      const t = makeTexts(texts, SHARED_TEXTS);
      const first = frame.view.sight !== "all";
      lead.classList.toggle("hs-first-lead", first);
      const begin = { type: "button", class: "hs-start", click: () => frame.openLesson(FIRST) };
      if (first) lead.replaceChildren(t("first_lead"), frame.teaches ? el("button", begin, t("first_start")) : "");
      else if (look) lead.replaceChildren(el("b", null, frame.t("look")), " ", frame.translate(look));
      else lead.replaceChildren(t("heads_lead"));
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

// The text that folds away below, as pages/heads/page.py has it.
function aboutHeads({ texts, about, model, options }) {
  const t = makeTexts(texts, SHARED_TEXTS);
  const [Q, K, V, QK, d] = ["Q", "K", "V", "QK", "d"].map((letters) => el("i", null, letters));
  const raised = [QK, el("sup", null, "T"), " / √", d, el("sub", null, "k")];
  const attention = ["Attention(", Q, ", ", K, ", ", V, ") = softmax(", ...raised, ") ", V.cloneNode(true)];
  const kinds = t(about.config.causal ? "about_kinds" : "about_kinds_uncausal");
  const fold = el(
    "details",
    { class: "hs-fold", open: options.get("panel") === "about" },
    el("summary", null, t("about_heads")),
    el("p", null, ...markup(t("about_squares"))),
    el("p", null, ...attention),
    el("p", null, ...markup(kinds)),
    model.recorded ? el("p", null, ...markup(t("about_formation"))) : null,
  );
  fold.addEventListener("toggle", () => options.set("panel", fold.open ? "about" : null));
  return fold;
}
