import { buttonEl, el } from "../core/dom.js";
import { SwitchCards } from "../lab/switches.js";
import { readSwitches, writeSwitches } from "../lab/params.js";
import { isAttention, isOpen } from "./walk.js";

// The lab's cards of switches, folded below the anatomy.

const PAUSE = 120; // milliseconds a slider must rest before the server is told

export class AnatomySwitches {
  constructor({ t, tooltip, changed, hooks }) {
    this.t = t;
    this.forms = {};
    this.lists = {};
    this.others = {}; // switches that have no card here: of positions, sub-layers, neurons
    this.cards = new SwitchCards({
      t,
      tooltip,
      switched: (lists, dragging) => {
        this.lists = lists;
        this.redraw();
        changed(dragging ? PAUSE : 0);
      },
      setKnocking: () => this.knock(),
      knocking: () => this.isOut(),
    });
    const undo = () => {
      this.take({}, this.forms);
      this.redraw();
      changed(0);
    };
    this.count = el("span", { class: "hs-an-count" });
    this.reset = buttonEl({ class: "hs-reset", "data-testid": "anatomy-reset", click: undo }, t("lab_reset"));
    this.element = el(
      "details",
      { class: "hs-an-switches", "data-testid": "anatomy-switches" },
      el("summary", null, t("an_switches"), " ", this.count),
      this.cards.element,
      this.reset,
    );
    this.element.addEventListener("toggle", () => hooks.fold("switches", this.element.open));
  }

  take(params, forms) {
    this.forms = forms;
    this.lists = readSwitches(params, forms);
    this.others = Object.fromEntries(Object.entries(params || {}).filter(([name]) => !(name in this.lists)));
  }

  params() {
    return { ...writeSwitches(this.lists, this.forms), ...this.others };
  }

  subject() {
    const { state, data } = this;
    const { config } = data;
    const sizes = (layers) => ({ layers, heads: config.heads });
    const kinds = {
      encoder_self: sizes(config.encoder_layers),
      decoder_self: sizes(config.decoder_layers),
      cross: sizes(config.decoder_layers),
    };
    const kind =
      state.place === "decoder.cross" ? "cross" : state.place.startsWith("decoder") ? "decoder_self" : "encoder_self";
    const layer = kind === "encoder_self" ? state.encoder : state.decoder;
    const standard = config.d_k ** -0.5;
    const trained = config.scaling ? standard : 1;
    return {
      lists: this.lists,
      forms: this.forms,
      kinds,
      kind,
      layer,
      head: state.head,
      header: data.header,
      standard,
      trained,
    };
  }

  isOut() {
    const { kind, layer, head } = this.subject();
    const pattern = new RegExp(`^(all|${kind}|${kind}\\.${layer + 1}|${kind}\\.(${layer + 1}|\\*)\\.${head + 1})$`);
    return this.lists.zero.some((entry) => pattern.test(entry.where));
  }

  // Knocks out the head shown, or restores it.
  knock() {
    const { kind, layer, head } = this.subject();
    this.cards.toggle(kind, layer, head);
  }

  draw(state, data) {
    this.state = state;
    this.data = data;
    this.element.open = isOpen(state, "switches");
    this.redraw();
  }

  redraw() {
    if (!this.data || !this.data.trace) return;
    const count = Object.values(this.params()).flatMap((text) => text.split(",")).length;
    this.count.textContent = count ? this.t("an_switched", { n: count }) : "";
    this.reset.disabled = !count;
    this.cards.draw({ ...this.subject(), knocking: this.isOut() });
    this.cards.zero.mode.disabled = !isAttention(this.state.place);
  }
}
