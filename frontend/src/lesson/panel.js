// The lesson beside the page that it leads through: where it is, what to look at, a question, next and back. As
// pages/frame/lesson.py.
import { buttonEl, el } from "../core/dom.js";
import { makeTexts } from "../core/texts.js";
import { answersOf, cards, pairList, reveal, spelled } from "./answered.js";
import { Course } from "./course.js";
import { makeFields } from "./fields.js";
import { scrollTo } from "./scroll.js";
import { LESSON_TEXTS } from "./texts.js";

const KEYS = { KeyN: 1, KeyB: -1 }; // with Alt

/**
 * Shows a lesson in an element of the page's own, outside of what it leads through.
 *
 * For style sheets (lesson.css): the root of the document has data-lesson, "open" or "folded"; of `places`, a covered one
 * has data-lesson-covered and is inert, the one to look at has data-lesson-lit. A question stands where its view is or
 * will be: before the picture, outside of the panel.
 *
 * @param {HTMLElement} root
 * @param {object} options
 * @param {any} options.lesson of readLessons
 * @param {number} options.stop its number, as links have it; of one that is left out, the next one opens
 * @param {boolean} [options.arrive] whether to open the stop's view: the lesson was started, or the link names no view
 * @param {boolean} [options.linked] whether the sentence on the screen is that of the link
 * @param {import("../live/live.js").Live} options.live
 * @param {() => {page: string, view: State, sentence: {checkpoint: string, source: string, target: string}, link: string}}
 * options.shown what is on the screen; link: a text that is another one for another view
 * @param {(link: {page: string, params: Record<string, string>}, stop: number) => Promise<unknown>} options.go opens the
 * view of a stop: `shown` tells it at once, and the promise ends when it is drawn
 * @param {(view: Partial<State>) => void} options.choose chooses a head or a cell in the picture
 * @param {() => {picture: HTMLElement, parts: HTMLElement, sentence: HTMLElement}} options.places of the page
 * @param {() => void} options.leave ends the lesson
 * @param {() => Storage} [options.answers] where they are kept
 * @param {Record<string, string>} options.texts translations
 * @param {any} [options.meanings] of words, as wordMeanings takes them
 * @returns {{update: (stop?: number) => void, destroy: () => void}} update: to be called after anything that `shown` tells
 * has changed; stop: of the address, after back or forward
 */
export function mountLesson(root, { arrive = false, linked = false, places, leave, texts, ...options }) {
  const panel = new Panel(root, makeTexts(texts, LESSON_TEXTS), { places, leave, ...options });
  // Later, because the shell does not have the panel yet.
  if (arrive) queueMicrotask(() => panel.open(panel.course.stop, linked));
  else panel.course.update();
  return { update: (stop) => panel.course.update(stop), destroy: () => panel.destroy() };
}

class Panel {
  constructor(root, t, { places, leave, ...options }) {
    this.root = root;
    this.t = t;
    this.places = places;
    this.leave = leave;
    this.folded = false;
    this.drawn = {}; // part of the panel -> what it shows
    this.cover = el("p", { class: "hs-cover" }, t("cover"));
    this.wall = el("section", { class: "hs-lesson-wall", "aria-label": options.lesson.title });
    root.classList.add("hs-lesson");
    root.setAttribute("aria-label", options.lesson.title);
    this.course = new Course(/** @type {any} */ ({ ...options, t, changed: () => this.draw() }));
    const { signal } = (this.listening = new AbortController());
    window.addEventListener("keydown", (event) => this.key(event), { signal });
    const isOurs = (event) => [root, this.wall].some((one) => event.composedPath().includes(one));
    const touch = (event) => (this.course.touched ||= !isOurs(event));
    for (const name of ["pointerdown", "keydown", "input"])
      window.addEventListener(name, touch, { signal, capture: true });
    signal.addEventListener(
      "abort",
      options.live.onChange(() => this.course.follow()),
    );
  }

  async open(stop, linked = false) {
    if (await this.course.open(stop, linked)) this.look();
  }

  step(by) {
    const { lesson, place } = this.course;
    const stop = lesson.stops[place + by];
    if (stop) this.open(stop);
  }

  key(event) {
    const step = event.altKey && !event.ctrlKey && !event.metaKey && KEYS[event.code];
    if (!step) return;
    event.preventDefault();
    this.step(step);
  }

  give(read, note) {
    const answer = read();
    note.textContent = answer.missing ? this.t(answer.missing, answer.values) : "";
    if (answer.missing) return;
    this.course.give(answer);
    this.find("lesson-reveal")?.focus({ preventScroll: true });
    this.look();
  }

  destroy() {
    this.listening.abort();
    this.course.changed = () => {};
    this.mark(false, "");
    delete document.documentElement.dataset.lesson;
    this.root.replaceChildren();
    this.wall.remove();
  }

  /** @returns {HTMLElement | null} */
  find = (name) => {
    const named = `[data-testid="${name}"]`;
    return this.root.querySelector(named) ?? this.wall.querySelector(named);
  };

  // -- drawing -----------------------------------------------------------------------------------------------------------

  draw() {
    const { folded, course } = this;
    const { stop, covered, predicts, waits, asked, problem, given, visit } = course;
    this.mark(covered, !folded && !covered && course.isItsPage ? stop.lit : "");
    const frame = [stop.number, folded, Object.keys(visit.given), this.hasWall];
    if (this.isNew("frame", frame)) this.keepFocus(() => this.drawFrame());
    const question = [frame, asked?.key, asked?.options, problem, given, predicts];
    if (this.hasWall && this.isNew("question", question)) this.keepFocus(() => this.drawQuestion());
    if (folded) return;
    this.find("lesson-return").hidden = !course.isAway;
    (this.find("lesson-next") ?? this.find("lesson-end")).classList.toggle("hs-primary", !waits); // first the answer
  }

  get hasWall() {
    return Boolean(this.course.stop.question) && this.course.isItsPage;
  }

  drawFrame() {
    this.question = el("section", { class: "hs-lesson-question" });
    this.drawn.question = "";
    if (this.folded) this.drawFolded();
    else this.drawPanel();
    this.wall.replaceChildren(this.question, ...(this.course.covered ? [this.cover] : []));
  }

  isNew(part, shown) {
    const before = this.drawn[part];
    this.drawn[part] = JSON.stringify(shown);
    return this.drawn[part] !== before;
  }

  // A button that is drawn again is still the one of the keyboard.
  keepFocus(draw) {
    const active = document.activeElement;
    const isOurs = this.root.contains(active) || this.wall.contains(active);
    const name = isOurs && active.getAttribute("data-testid");
    draw();
    if (name) this.find(name)?.focus({ preventScroll: true });
  }

  // Says in the page what is covered and what to look at.
  mark(covered, lit) {
    document.documentElement.dataset.lesson = this.folded ? "folded" : "open";
    const places = this.places();
    for (const [name, element] of Object.entries(places)) {
      element.inert = covered;
      element.toggleAttribute("data-lesson-covered", covered);
      element.toggleAttribute("data-lesson-lit", name === lit);
    }
    if (!covered) this.cover.remove();
    else this.wall.append(this.cover);
    if (!this.hasWall) this.wall.remove();
    else if (this.wall.nextElementSibling !== places.picture) places.picture.before(this.wall);
  }

  button(name, content, click, more = {}) {
    const attributes = { class: "hs-button", "data-testid": `lesson-${name}`, click, ...more };
    return buttonEl(attributes, ...[content].flat());
  }

  head(text) {
    const { t } = this;
    const { lesson, place } = this.course;
    const where = el("small", null, t("where", { stop: place + 1, count: lesson.stops.length }));
    const fold = () => {
      this.folded = !this.folded;
      this.draw();
    };
    return el(
      "div",
      { class: "hs-lesson-head" },
      el("h2", null, lesson.title, " ", where),
      this.button("fold", text, fold),
    );
  }

  drawFolded() {
    this.root.dataset.folded = "";
    this.root.replaceChildren(this.head(this.t("show")));
  }

  drawPanel() {
    const { t, root } = this;
    const { lesson, stop, place, visit } = this.course;
    const count = lesson.stops.length;
    const last = place + 1 === count;
    delete root.dataset.folded;
    root.replaceChildren(
      this.head(t("hide")),
      el("progress", { value: place + 1, max: count, "aria-label": lesson.title }),
      el("h3", { "data-testid": "lesson-title" }, stop.title),
      stop.section ? el("small", null, t("section", { number: stop.section })) : "",
      el("div", { class: "hs-lesson-text" }, ...stop.text.map(element)),
      this.moves(last),
      ...(last ? [el("p", { class: "hs-lesson-quiet" }, t("last")), answersOf(t, lesson, visit)] : []),
      this.list(),
    );
    root.scrollTop = 0;
  }

  moves(last) {
    const { t } = this;
    const { place, stop } = this.course;
    const key = (name) => el("kbd", null, `Alt + ${name}`);
    return el(
      "div",
      { class: "hs-lesson-moves" },
      this.button("back", [t("back"), key("B")], () => this.step(-1), {
        disabled: !place,
        "aria-keyshortcuts": "Alt+B",
      }),
      last
        ? this.button("end", t("end"), () => this.leave())
        : this.button("next", [t("next"), key("N")], () => this.step(1), { "aria-keyshortcuts": "Alt+N" }),
      this.button("return", t("return"), () => this.open(stop)),
    );
  }

  list() {
    const { t } = this;
    const { lesson, stop: open, visit } = this.course;
    const stops = lesson.stops.map((stop, at) => {
      const title = `${at + 1}. ${stop.title}`;
      const text = visit.last(stop.number) ? t("done", { stop: title }) : title;
      return this.button(`stop-${at + 1}`, text, () => this.open(stop), { disabled: stop === open });
    });
    const end = this.button("leave", t("end"), () => this.leave());
    return el("details", { class: "hs-lesson-stops" }, el("summary", null, t("all")), ...stops, end);
  }

  drawQuestion() {
    const { t } = this;
    const { stop, asked, given, problem } = this.course;
    const { question } = stop;
    const note = problem ? t(...problem) : asked ? "" : t("waits");
    const rest = note ? [this.note(note)] : this.questionOf(question, asked, given);
    const kind = this.course.predicts ? "hs-lesson-ask hs-predicts" : "hs-lesson-ask";
    this.question.replaceChildren(el("p", { class: kind }, question.ask), ...rest);
  }

  note = (text) => el("p", { class: "hs-message hs-note", role: "status" }, text);

  questionOf(question, asked, given) {
    const { t, course } = this;
    const named = (asked.pair ?? []).map((text, at) => [t(at ? "translation" : "sentence"), text]);
    const pair = named.length ? [pairList("hs-lesson-pair", named)] : [];
    const label = (option) => {
      const meaning = asked.meanings[option];
      return meaning ? `${option} (${meaning})` : spelled(question, option);
    };
    const chosen = question.kind === "choose" ? [asked.options] : [];
    if (given)
      return [...pair, ...chosen.map((options) => cards(t, options, given, label)), reveal(t, question, given)];
    const { element: fields, read } = makeFields(t, question, asked, { label, pressed: () => course.chosen() });
    const note = this.note("");
    const send = (event) => {
      event.preventDefault();
      this.give(read, note);
    };
    const button = this.button("answer", t("answer"), null, { type: "submit", class: "hs-button hs-primary" });
    return [...pair, ...this.tokens(question, asked), el("form", { submit: send }, fields, note, button)];
  }

  // The tokens that the question counts, numbered.
  tokens(question, { tokens }) {
    if (!tokens.length || !question.cover) return [];
    const token = ([label, meaning]) => el("li", null, label, meaning ? el("small", null, meaning) : "");
    return [
      el("p", { class: "hs-lesson-quiet" }, this.t(question.tokens)),
      el("ol", { class: "hs-lesson-output" }, ...tokens.map(token)),
    ];
  }

  // Scrolls to what the stop is about; of a picture of heads, to the chosen one and not to the grid.
  look() {
    const { course } = this;
    const { stop } = course;
    const places = this.places();
    if (this.hasWall || !stop.lit || !course.isItsPage) return window.scrollTo(0, 0);
    const inside = () =>
      [...places.picture.querySelectorAll("*")].map((one) => one.shadowRoot?.querySelector(HEAD_BOX));
    const head = () => stop.lit === "picture" && inside().find((one) => one?.clientHeight);
    return scrollTo(() => head() || places[stop.lit], this.root);
  }
}

const HEAD_BOX = ".hs-head-box"; // of explorer/explorer.js

// A text, or [tag, ...children], of a text in Markdown (transformer/web/lessons.py).
const element = (node) => (typeof node === "string" ? node : el(node[0], null, ...node.slice(1).map(element)));
