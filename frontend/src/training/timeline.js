import { buttonEl, el, sliderEl } from "../core/dom.js";
import { runLabel } from "./words.js";

// The slider over the steps of the chosen run, as long as its curves; play and live.
export class Timeline {
  /** @type {any} */ run;
  step = 0;
  // hooks: {t, goTo(index), play(), live()}
  // save: the menu that saves the picture
  constructor(hooks, save) {
    this.hooks = hooks;
    const { t } = hooks;
    this.playing = buttonEl({ "data-testid": "training-play", click: () => hooks.play() });
    this.live = buttonEl(
      { class: "learn-live", "data-testid": "training-live", title: t("live_title"), click: () => hooks.live() },
      el("span", { class: "learn-dot", "aria-hidden": "true" }),
      t("live"),
    );
    const bounds = { min: 0, max: 0, step: 1, value: 0 };
    this.slider = sliderEl("training-slider", null, bounds, (step) => this.moved(step));
    this.number = el("output", { class: "learn-step", "data-testid": "training-step" });
    this.element = el("div", { class: "learn-time" }, this.playing, this.slider, this.number, this.live, save);
  }

  // Not every step is recorded: to the next one in the direction of the move, so that each arrow key moves.
  moved(step) {
    const { run, hooks } = this;
    const before = run.frameAt(step);
    hooks.goTo(step > this.step && run.frames[before].step < step ? before + 1 : before);
  }

  draw(run, index, mode) {
    const { t } = this.hooks;
    const enabled = Boolean(run) && index >= 0;
    for (const control of [this.playing, this.slider, this.live]) control.disabled = !enabled;
    this.live.hidden = !run || !run.active;
    const playing = mode === "play";
    if (this.mode !== mode) {
      this.mode = mode;
      this.playing.replaceChildren(
        el("span", { class: "learn-sign", "aria-hidden": "true" }, playing ? "❚❚" : "▶"),
        t(playing ? "play_hold" : "play"),
      );
      this.playing.title = t(playing ? "play_hold_title" : "play_title");
      this.playing.setAttribute("aria-label", this.playing.title);
      this.live.setAttribute("aria-pressed", String(mode === "live"));
    }
    const end = run ? run.about.steps : 0;
    if (Number(this.slider.max) !== end) this.slider.max = end;
    this.step = enabled ? run.frames[index].step : 0;
    if (Number(this.slider.value) !== this.step) this.slider.value = this.step;
    const there = enabled ? run.frames[run.last].step / end : 0;
    this.slider.style.setProperty("--there", `${(100 * there).toFixed(2)}%`);
    const numbers = { step: this.step.toLocaleString("en"), steps: end.toLocaleString("en") };
    const text = enabled ? t("step_of", numbers) : t("step_none");
    if (text === this.text && run === this.run) return;
    this.text = text;
    this.run = run;
    this.number.textContent = text;
    this.slider.setAttribute("aria-valuetext", text);
    this.slider.setAttribute("aria-label", t("slider", { label: run ? runLabel(t, run) : "" }));
  }
}
