import { buttonEl, el, printable, sliderEl } from "../core/dom.js";
import { feeds, keepMounted, listenToFeeds, tellFeed } from "../host/streamlit.js";
import { savingMenu } from "../saving/menu.js";
import { PlainView } from "../host/plain_view.js";
import { formationCurves, stopLabels } from "./track.js";
import { formationMarks, stepText } from "./marks.js";
import { FORMATION_TEXTS } from "./texts.js";

// How heads formed: a slider over the recorded states of a training. All states of the sentence are here, so a move
// needs no server; the picture is told of each move through the window, and Python afterwards, for the link.

const TURN_TIME = 900; // milliseconds a state is shown while it plays
const REPORT_PAUSE = 350; // milliseconds from the last move until Python is told
const REQUEST_TIME = 5000; // milliseconds after a click within which what opens gets the focus

export class Formation extends PlainView {
  constructor(parent) {
    super(parent, "formation", FORMATION_TEXTS);
    this.stop = listenToFeeds(["headscope.recording"], (bytes) => this.read(bytes));
  }

  destroy() {
    this.stop();
    clearTimeout(this.playing);
    feeds().kept.delete("headscope.recording");
    this.tell("headscope.recorded", null);
    super.destroy();
  }

  tell(name, data) {
    tellFeed(name, data, name === "headscope.recorded");
  }

  read(bytes) {
    this.pack = super.read(bytes, FORMATION_TEXTS);
    if (this.pack) this.show(this.pack.header);
  }

  // Python's step counts only if Python changed it: an echo of an earlier report does not undo later moves.
  take(before) {
    const { data, pack } = this;
    if (!before || data.step !== this.told) this.at = Math.max(0, data.steps.indexOf(data.step));
    this.told = data.step;
    this.at = Math.min(this.at, data.steps.length - 1);
    const arrays = Object.entries(data.kinds).map(([kind, ref]) => [kind, pack.array(ref), ref.shape]);
    const habits = Object.entries(data.habits).map(([kind, ref]) => [kind, pack.array(ref), ref.shape]);
    const last = data.steps[data.steps.length - 1];
    this.states = data.steps.map((step, at) => {
      const cut = ([kind, all, [count]]) => {
        const size = all.length / count;
        return [kind, all.subarray(at * size, (at + 1) * size)];
      };
      const state = { id: data.id, step, last, bytes: null };
      if (!arrays.length) return state;
      const habit = { shares: Object.fromEntries(habits.map(cut)), rows: data.rows, sentences: data.sentences.length };
      return { ...state, bytes: Object.fromEntries(arrays.map(cut)), habits: habit };
    });
    const lists = (values) => JSON.stringify([values.sentences, values.formings, values.writes.length > 0]);
    this.rebuild = Boolean(before) && lists(before) !== lists(data);
  }

  get recorded() {
    return this.data.writes.length > 0;
  }

  build() {
    const button = (name, click, ...inside) =>
      buttonEl({ class: `hs-press fm-${name}`, "data-testid": "formation-" + name, click }, ...inside);
    this.play = button("play", () => this.toggle());
    this.play.dataset.notSaved = "";
    const bounds = { min: 0, max: this.data.steps.length - 1, step: 1 };
    this.range = sliderEl("formation-slider", this.t("slider"), bounds, (at) => this.move(at));
    const back = button("back", () => this.close(), this.t("back"), el("span", { "aria-hidden": "true" }, " ✕"));
    this.plot = el("div", { class: "fm-plot" });
    this.ticks = el("div", { class: "fm-ticks", "aria-hidden": "true" });
    this.track = el("div", { class: "fm-track" }, this.plot, this.range, this.ticks);
    this.now = el("p", { class: "fm-now", "data-testid": "formation-now" });
    this.elsewhere = el("div", { class: "fm-elsewhere" });
    this.marks = el("ul", { class: "fm-marks", "data-testid": "formation-marks" });
    this.spoken = el("p", { class: "hs-spoken", role: "status" });
    this.rebuild = false;
    this.says();
    const save = savingMenu(this, "formation-save", () => this.saved());
    const end = el("div", { class: "fm-end", "data-not-saved": true }, back, save);
    this.row = el("div", { class: "fm-row" }, this.elsewhere, this.play, this.track, end);
    this.picture = el(
      "div",
      { class: "fm-picture hs-pictured", "data-saved-by": "formation-save" },
      this.row,
      this.now,
      this.marks,
    );
    return [this.picture, this.spoken];
  }

  // Loss and score of every state, and the steps at which heads formed, as files.
  saved() {
    const { data, t } = this;
    const rows = data.steps.map((step, at) => [step, data.scores[at].loss, data.scores[at].score]);
    return {
      element: this.picture,
      stem: [data.checkpoint, "training", `step${data.steps[this.at]}`],
      caption: t("saved_caption", { model: data.checkpoint, measure: t(data.measure) }),
      rows: [[t("csv_step"), t("loss"), t(data.measure)], ...rows],
    };
  }

  // What does not change from state to state: milestones, and, for a sentence that was not recorded, the recorded ones.
  says() {
    this.element.classList.toggle("fm-away", !this.recorded);
    const jump = (forming) => {
      this.move(forming.state);
      this.tell("headscope.pick", { kind: forming.kind, layer: forming.layer, head: forming.head });
    };
    const label = el("li", { class: "fm-label" }, this.t("steps"));
    this.marks.replaceChildren(label, ...formationMarks(this, this.recorded ? jump : null));
    this.elsewhere.replaceChildren(...(this.recorded ? [] : this.offer()));
  }

  offer() {
    const { data, t } = this;
    const same = data.sentences.some((sentence) => sentence.same);
    const chosen = [...data.sentences].sort((a, b) => Number(b.same) - Number(a.same));
    const select = el(
      "select",
      { "aria-label": t("sentence"), "data-testid": "formation-sentence" },
      ...chosen.map((sentence) => el("option", { value: sentence.number }, printable(sentence.source))),
    );
    const open = () => this.component.setTriggerValue("open", Number(select.value));
    return [
      el("p", null, t(same ? "other_tokens" : "not_recorded", { n: data.sentences.length })),
      select,
      buttonEl({ class: "hs-press", "data-testid": "formation-open", click: open }, t("open")),
    ];
  }

  paint() {
    const { data, t } = this;
    if (this.rebuild) this.says();
    this.rebuild = false;
    this.element.classList.toggle("fm-narrow", this.element.clientWidth < 48 * this.theme.size);
    const width = this.track.clientWidth;
    this.plot.replaceChildren(formationCurves(this, width));
    this.paintStep();
    const request = feeds().formationAsked;
    if (request && performance.now() - request < REQUEST_TIME) {
      (this.recorded ? this.play : this.elsewhere.querySelector("select")).focus({ preventScroll: true });
      feeds().formationAsked = null;
    }
    this.play.disabled = this.range.disabled = !this.recorded;
    // On a narrow page the slider, which is below its texts there, stays visible while the user scrolls to the heads.
    const above = this.row.offsetTop - this.element.offsetTop;
    const stick = this.recorded ? `${-Math.max(0, above)}px` : "auto";
    document.documentElement.style.setProperty("--hs-formation-above", stick);
    this.element.dataset.state = this.recorded ? "recorded" : "elsewhere";
    this.element.setAttribute("aria-label", t("region"));
    this.element.dataset.steps = data.steps.length;
  }

  // One state: the slider, its numbers, and the picture.
  paintStep() {
    const { data, t, at } = this;
    this.range.value = at;
    this.range.max = data.steps.length - 1;
    const [score, loss] = [data.scores[at].score.toFixed(1), data.scores[at].loss.toFixed(2)];
    const measure = t(data.measure);
    const step = stepText(this, at);
    const mark = el("span", { "aria-hidden": "true" }, this.playing ? "❚❚ " : "▶ ");
    this.play.replaceChildren(mark, t(this.playing ? "pause" : "play"));
    const writes = this.recorded ? printable(data.writes[at] || t("writes_nothing")) : "";
    this.range.setAttribute("aria-valuetext", t("spoken", { step, measure, score, loss, writes }));
    const number = (name, value) =>
      el("span", { class: "fm-number", title: t(name + "_term") }, t(name) + " ", el("b", null, value));
    this.now.replaceChildren(
      el("b", { class: "fm-step" }, step),
      number(data.measure, score),
      number("loss", loss),
      el("span", { class: "fm-writes", dir: "auto" }, el("span", null, t("writes") + " "), writes),
    );
    this.now.hidden = !this.recorded;
    this.ticks.replaceChildren(...stopLabels(this, this.track.clientWidth));
    for (const mark of this.marks.children) mark.toggleAttribute("data-past", Number(mark.dataset.state) <= at);
    const dots = this.plot.querySelectorAll("[data-at]");
    for (const dot of dots) dot.toggleAttribute("data-here", Number(dot.dataset.at) === at);
    this.element.dataset.step = data.steps[at];
    this.tell("headscope.recorded", this.states[at]);
  }

  move(at) {
    this.halt();
    this.go(at);
  }

  go(at) {
    this.at = at;
    this.paintStep();
    this.due = null;
    if (!this.playing) this.later(REPORT_PAUSE, () => this.report());
  }

  report() {
    // While the slider has the focus, screen readers speak its position already.
    if (!this.range.matches(":focus")) this.spoken.textContent = this.range.getAttribute("aria-valuetext");
    this.told = this.data.steps[this.at];
    this.component.setStateValue("training", { step: this.told, revision: this.data.revision });
  }

  // Plays from here to the end, or from the start if it is at the end; Python is told the state at which it ends.
  toggle() {
    if (this.playing) {
      this.halt();
      return this.go(this.at);
    }
    const last = this.data.steps.length - 1;
    const turn = () => {
      const done = this.at + 1 >= last;
      if (done) this.playing = null;
      else this.playing = setTimeout(turn, TURN_TIME);
      this.go(Math.min(last, this.at + 1));
    };
    this.playing = setTimeout(turn, TURN_TIME);
    return this.go(this.at === last ? 0 : this.at);
  }

  halt() {
    clearTimeout(this.playing);
    this.playing = null;
  }

  close() {
    this.halt();
    this.due = null;
    this.tell("headscope.recorded", null);
    this.component.setTriggerValue("close", true);
  }
}

export default (component) => keepMounted(component, (parent) => new Formation(parent)).leave;
