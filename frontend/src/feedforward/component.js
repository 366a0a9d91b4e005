import { buttonEl, el, printable, sliderEl } from "../core/dom.js";
import { makeRamp } from "../core/colour.js";
import { countText } from "../core/format.js";
import { countDrawing } from "../core/picture.js";
import { figureMarkup } from "../figure/markup.js";
import { plainComponent } from "../host/plain_view.js";
import { appLive } from "../live/live.js";
import { LiveView } from "../live/view.js";
import { savingMenu } from "../saving/menu.js";
import { ACTIVITY } from "../state/generated.js";
import { liveActivity } from "./live.js";
import { activityMap, axisMarks, countBars } from "./plot.js";
import { makeReadable } from "./reading.js";
import { FEEDFORWARD_TEXTS } from "./texts.js";
import { busiest, percent, sharesOf } from "./words.js";

// How many neurons of the feed-forward sub-layers are active in the sentence; below it the numbers of one layer. numbers:
// of from_trace.js. state: {stack, layer: from 1, threshold: in hundredths, panel: "few" if that text is open}.

const STACKS = /** @type {const} */ (["encoder", "decoder"]);
const KINDS = { encoder: "encoder_self", decoder: "decoder_self" }; // whose colours a stack has
const NAMES = { relu: "ReLU", gelu: "GELU", swish: "swish" };
const MOVED = 300; // milliseconds from the slider's last move until Python is told
const EACH_TOKEN = 20; // numbers of tokens that stand under an axis

export class Activity extends LiveView {
  constructor(parent) {
    super(parent, "feedforward", FEEDFORWARD_TEXTS);
  }

  // -- what is chosen ------------------------------------------------------------------------------------------------

  // The index of the threshold.
  get at() {
    const { thresholds } = ACTIVITY;
    return Math.max(0, Math.min(thresholds.length - 1, Math.round(this.state.threshold / 100 / thresholds[1])));
  }

  get threshold() {
    return ACTIVITY.thresholds[this.at].toFixed(2);
  }

  get layer() {
    const { stack, layer } = this.state;
    return Math.max(0, Math.min(layer, this.numbers[stack].active.length) - 1);
  }

  get isRelu() {
    return this.numbers.activation === "relu";
  }

  // -- texts ---------------------------------------------------------------------------------------------------------

  layerName(stack, layer) {
    return this.t("layer_name", { stack: this.t(stack), layer: layer + 1 });
  }

  // The non-linearity of a number.
  nonlinearity(of) {
    return this.isRelu ? `max(0, ${of})` : `${NAMES[this.numbers.activation]}(${of})`;
  }

  // What enters a neuron's non-linearity; "bare": a model without biases.
  get inner() {
    return `<i>x</i>W<sub>1</sub>${this.numbers.bare ? "" : " + b<sub>1</sub>"}`;
  }

  // What the non-linearity returns for it, in a gated network times a second product.
  activation(of) {
    return `${this.nonlinearity(of)}${this.numbers.gated ? " ⊙ <i>x</i>V" : ""}`;
  }

  get equation() {
    const { gated, bare } = this.numbers;
    const inner = gated ? `(${this.activation(this.inner)})` : this.activation(this.inner);
    const formula = `FFN(<i>x</i>) = ${inner} W<sub>2</sub>${bare ? "" : " + b<sub>2</sub>"}`;
    return this.t(this.isRelu ? "equation" : `equation_${this.numbers.activation}`, { formula });
  }

  // -- drawing -------------------------------------------------------------------------------------------------------

  build() {
    const { thresholds } = ACTIVITY;
    this.says = el("p", { class: "hs-point", "data-testid": "feedforward-says" });
    this.number = el("output");
    const bounds = { min: 0, max: thresholds.length - 1, step: 1 };
    const move = (at) => this.choose({ threshold: Math.round(100 * thresholds[at]) }, MOVED);
    this.range = sliderEl("feedforward-threshold", this.t("threshold_name"), bounds, move);
    this.maps = Object.fromEntries(STACKS.map((name) => [name, el("div", { class: "ff-part" })]));
    this.map = this.figure("active", el("div", { class: "ff-maps" }, ...Object.values(this.maps)));
    const slide = el("label", { class: "ff-slide", "data-not-saved": "" }, this.number, this.range);
    this.map.plot.before(slide);

    this.why = el("summary", {});
    this.because = el("p", {});
    this.few = el("details", { class: "ff-few" }, this.why, this.because);
    this.few.addEventListener("toggle", () => {
      const panel = this.few.open ? "few" : "";
      if (panel !== this.state.panel) this.choose({ panel });
    });

    this.stacks = STACKS.map((stack) =>
      buttonEl({ "data-kind": KINDS[stack], click: () => this.choose({ stack }) }, this.t(stack)),
    );
    const seg = el("span", { class: "hs-seg", role: "group", "aria-label": this.t("stack") }, ...this.stacks);
    const chosen = () => this.choose({ layer: Number(this.layers.value) });
    this.layers = el("select", { "data-testid": "feedforward-layer", change: chosen });
    const layers = el("label", {}, this.t("layer_choice"), " ", this.layers);
    this.wrong = el("p", { class: "ff-wrong", role: "status" });
    this.histogram = this.figure("histogram");
    this.spread = this.figure("spread");
    this.one = el("div", { class: "ff-one" }, this.histogram.element, this.spread.element);
    return [
      this.says,
      this.map.element,
      this.few,
      el("div", { class: "ff-choose" }, seg, layers),
      this.wrong,
      this.one,
    ];
  }

  // A picture under its title and equation, with the sentence that it shows and its menu.
  figure(name, ...content) {
    const title = el("h2", {});
    const equation = el("p", { class: "ff-equation" });
    const plot = el("div", { class: "ff-plot" }, ...content);
    const body = el("div", { class: "ff-body", "data-saved-by": `feedforward-${name}-save` }, title, plot, equation);
    const sentence = el("p", { class: "ff-sentence" });
    const menu = savingMenu(this, `feedforward-${name}-save`, () => this.saved(name));
    const element = el("section", { class: `ff-figure ff-figure-${name} hs-pictured` }, body, menu, sentence);
    return { element, body, title, equation, plot, sentence };
  }

  paint() {
    const { numbers } = this;
    if (!numbers) return;
    this.ramps = Object.fromEntries(STACKS.map((stack) => [stack, makeRamp(this.theme, KINDS[stack])]));
    this.shares = Object.fromEntries(STACKS.map((stack) => [stack, sharesOf(numbers[stack], this.at)]));
    this.most = busiest(numbers, this.shares);
    this.says.textContent = this.sentence();
    this.paintMap();
    this.paintAbout();
    this.paintLayer();
    countDrawing(this.element, "feedforward-active");
  }

  // The token that activates most neurons.
  sentence() {
    const { token, share } = this.most;
    const few = STACKS.every((stack) => this.shares[stack].shares.flat().every((one) => one < 0.5));
    return this.t(few ? "says" : "says_many", { token: printable(token), share: percent(share) });
  }

  paintMap() {
    const { numbers, map } = this;
    map.title.textContent = this.t("active", { count: countText(numbers.encoder.neurons) });
    map.equation.replaceChildren(...figureMarkup(this.t("active_equation", { equation: this.equation })));
    this.number.textContent = this.t("threshold", { value: this.threshold });
    this.range.value = this.at;
    this.range.setAttribute("aria-valuetext", this.threshold);
    // The scales stay while the threshold moves: they reach to what is above 0.
    const first = STACKS.map((stack) => sharesOf(numbers[stack], 0));
    const scales = {
      largest: Math.max(...first.flatMap(({ shares }) => shares.flat())) || 1,
      rows: Math.max(...STACKS.map((stack) => numbers[stack].tokens.length)),
    };
    for (const stack of STACKS) {
      const part = this.maps[stack];
      const tokens = numbers[stack].tokens.map(printable);
      const { svg, rows } = activityMap(this, {
        ...{ ramp: this.ramps[stack], tokens, width: part.clientWidth },
        ...{ ...this.shares[stack], ...scales, most: this.most.stack === stack ? this.most : null },
      });
      const title = this.t(`map_${stack}`);
      const spoken = makeReadable(svg, rows, this, this.t("map_label", { title }));
      part.replaceChildren(el("h3", {}, title), svg, spoken);
    }
  }

  paintAbout() {
    const { activation } = this.numbers;
    this.why.textContent = this.t("few");
    this.because.textContent = this.isRelu
      ? this.t("few_relu_about", { share: percent(ACTIVITY.published) })
      : this.t("few_about", { name: NAMES[activation], threshold: ACTIVITY.first[activation].toFixed(2) });
    this.few.open = this.state.panel === "few";
  }

  paintLayer() {
    const { stack } = this.state;
    const { layer, histogram, spread } = this;
    const { active, histogram: histograms } = this.numbers[stack];
    this.stacks.forEach((button, at) => button.setAttribute("aria-pressed", String(STACKS[at] === stack)));
    if (this.layers.length !== active.length)
      this.layers.replaceChildren(...active.map((_, at) => el("option", { value: at + 1 }, String(at + 1))));
    this.layers.value = String(layer + 1);
    const counted = histograms[layer];
    this.wrong.textContent = counted ? "" : this.t("not_finite");
    this.one.hidden = !counted;
    if (!counted) return;
    const name = this.layerName(stack, layer);
    const { equation } = this;
    histogram.title.textContent = this.t("histogram", { layer: name });
    const named = { inner: this.inner, function: this.activation("<i>z</i>"), equation };
    histogram.equation.replaceChildren(...figureMarkup(this.t("histogram_equation", named)));
    spread.title.textContent = this.t("spread", { layer: name });
    const above = { threshold: this.threshold, equation };
    spread.equation.replaceChildren(...figureMarkup(this.t("spread_equation", above)));
    this.paintHistogram(counted);
    this.paintSpread();
  }

  paintHistogram({ width: step, first, before, after, zero, negative }) {
    const starts = Array.from({ length: before.length + 1 }, (_, bin) => (first + bin) * step);
    const written = (value) => value.toFixed(3).replace("-", "−");
    const counts = [before, after];
    const { svg, rows } = countBars(this, {
      kind: KINDS[this.state.stack],
      width: this.histogram.plot.clientWidth,
      plots: [
        { name: this.t("before"), counts: before, class: "ff-light" },
        { name: this.t("after"), counts: after },
      ],
      starts,
      marks: axisMarks(starts[0], starts.at(-1), 6),
      axis: this.t("value"),
      zero: true,
      said: (plot, bin) => [
        this.t("bin", { from: written(starts[bin]), to: written(starts[bin + 1]) }),
        this.t("bin_count", { count: countText(counts[plot][bin]) }),
      ],
    });
    const title = this.histogram.title.textContent;
    this.histogram.plot.replaceChildren(svg, makeReadable(svg, rows, this, this.t("map_label", { title })));
    const total = before.reduce((sum, count) => sum + count, 0);
    const values = { negative: percent(negative / total), total: countText(total), zero: percent(zero / total) };
    this.histogram.sentence.textContent = this.t("histogram_says", values);
  }

  get counts() {
    return this.numbers[this.state.stack].spread[this.layer][this.at];
  }

  paintSpread() {
    const { counts } = this;
    const tokens = counts.length - 1;
    const each = Math.max(1, Math.ceil(tokens / EACH_TOKEN));
    const { svg, rows } = countBars(this, {
      kind: KINDS[this.state.stack],
      width: this.spread.plot.clientWidth,
      plots: [{ name: this.t("neurons_log"), counts }],
      starts: counts.concat(0).map((_, at) => at - 0.5),
      marks: counts
        .map((_, at) => /** @type {[number, string]} */ ([at, String(at)]))
        .filter(([at]) => at % each === 0),
      axis: this.t("spread_axis", { count: tokens }),
      said: (_, at) => [
        this.t("spread_tokens", { tokens: at }),
        this.t("spread_count", { count: countText(counts[at]) }),
      ],
    });
    const title = this.spread.title.textContent;
    this.spread.plot.replaceChildren(svg, makeReadable(svg, rows, this, this.t("map_label", { title })));
    const number = { neurons: this.numbers.encoder.neurons, never: counts[0], once: counts[1], always: counts[tokens] };
    const values = Object.fromEntries(Object.entries(number).map(([key, count]) => [key, countText(count)]));
    this.spread.sentence.textContent = this.t("spread_says", { ...values, tokens });
  }

  // -- files ---------------------------------------------------------------------------------------------------------

  saved(name) {
    const { source, target } = this.numbers;
    const { stack } = this.state;
    const layer = `${stack}-layer-${this.layer + 1}`;
    const above = ["above", this.threshold];
    const files = {
      active: { stem: ["active", ...above], rows: () => this.savedShares() },
      histogram: { stem: ["histogram", layer], rows: () => this.savedHistogram() },
      spread: { stem: ["spread", layer, ...above], rows: () => this.savedSpread() },
    };
    const { stem, rows } = files[name];
    return {
      element: this[name === "active" ? "map" : name].body,
      stem: [this.data.model, `feedforward-${stem[0]}`, ...stem.slice(1)],
      caption: [this.t("sentences", { source: printable(source), target: printable(target) })],
      rows: rows(),
    };
  }

  savedShares() {
    const head = ["csv_stack", "csv_layer", "csv_row", "csv_token", "csv_share"];
    const rows = STACKS.flatMap((stack) =>
      this.shares[stack].shares.flatMap((shares, layer) => [
        [this.t(stack), layer + 1, "", this.t("csv_mean"), 100 * this.shares[stack].means[layer]],
        ...shares.map((share, row) => [
          this.t(stack), layer + 1, row + 1, this.numbers[stack].tokens[row], 100 * share,
        ]), // prettier-ignore
      ]),
    );
    return [head.map((name) => this.t(name, { threshold: this.threshold })), ...rows];
  }

  savedHistogram() {
    const { width, first, before, after } = this.numbers[this.state.stack].histogram[this.layer];
    const rows = before.map((count, bin) => [(first + bin) * width, (first + bin + 1) * width, count, after[bin]]);
    return [["csv_from", "csv_to", "before", "after"].map((name) => this.t(name)), ...rows];
  }

  savedSpread() {
    return [[this.t("csv_tokens"), this.t("csv_neurons")], ...this.counts.map((count, tokens) => [tokens, count])];
  }
}

export default plainComponent(Activity, (view) => liveActivity(view, appLive()));
