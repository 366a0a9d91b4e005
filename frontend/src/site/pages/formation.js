// How the heads of a model formed, on the page Heads: a slider over the recorded states of its training. As on the server
// (pages/heads/formation.py) only recorded sentences have states, and the link holds the step that is looked at.
import { readPack } from "../../core/pack.js";
import { Formation } from "../../formation/component.js";
import { listenToFeeds } from "../../host/streamlit.js";
import { markFresh } from "../../live/live.js";

const STEP = "training"; // option of the link
const SAID = ["headscope.recorded", "headscope.pick"]; // by the slider: its state, or the head to choose

export class RecordedTraining {
  // place: a ShadowRoot; explorer: an Explorer; toggled(): called when the slider was opened or closed
  constructor(place, frame, explorer, toggled) {
    this.place = place;
    this.frame = frame;
    this.toggled = toggled;
    this.view = null;
    this.revision = 0;
    this.known = null; // a promise of learning.json
    this.stop = listenToFeeds(SAID, (message, name) =>
      name === SAID[0] ? explorer.recorded(message) : explorer.pick(message),
    );
  }

  get open() {
    return this.frame.options.get(STEP) !== undefined;
  }

  toggle(open) {
    this.frame.options.set(STEP, open ? "0" : null);
    this.toggled();
    this.show();
  }

  // header: of the pack that the explorer shows
  async show(header = this.header) {
    this.header = header;
    if (!this.open || !header || !this.frame.model.recorded) return this.close();
    this.known ??= this.frame.file("learning.json").then((file) => file.json());
    const known = await this.known;
    const tokens = JSON.stringify([header.tokens.source, header.tokens.target_in, header.tokens.target_out]);
    const texts = known.tokens.map((one) => JSON.stringify(one));
    const here = texts.indexOf(tokens);
    const number = here < 0 ? texts.findIndex((text) => text !== "null") : here;
    const pack = readPack(await this.frame.pack(`learning/${number}.pack`));
    if (header === this.header && this.open) this.draw(pack, here >= 0, known.sentences);
  }

  draw({ header, array }, recorded, sentences) {
    const { frame } = this;
    const { source } = this.header.sentences;
    this.view ??= new Formation(this.place);
    this.view.component = {
      setStateValue: (_, { step }) => frame.options.set(STEP, step),
      setTriggerValue: (name, value) => (name === "open" ? this.openSentence(...sentences[value]) : this.toggle(false)),
    };
    const asked = Number(frame.options.get(STEP)) || 0;
    const far = (step) => Math.abs(step - asked);
    this.view.read({
      header: {
        ...header,
        ...(!recorded && { kinds: {}, habits: {}, writes: [] }),
        id: this.header.id,
        sentences: header.sentences.map((sentence) => ({ ...sentence, same: sentence.source === source })),
        step: header.steps.reduce((best, step) => (far(step) < far(best) ? step : best)),
        big: frame.view.big,
        texts: frame.texts,
        revision: ++this.revision,
      },
      array,
    });
    markFresh(this.view.element);
  }

  // A recorded sentence; its target is typed in unless the model itself writes it.
  openSentence(source, target) {
    const { examples } = this.frame.model;
    const own = examples.some((example) => example.source === source && !example.target);
    this.frame.type({ source, target: own ? "" : target });
  }

  close() {
    this.view?.destroy();
    this.view = null;
  }

  destroy() {
    this.stop();
    this.close();
  }
}
