// A person's way through a lesson, without its drawing: the open stop, its question for the open model and sentence, what
// was answered, and what is covered until then.
import { computeAnswer } from "./answers.js";
import { askQuestion, indicesOf, inWords, isRight, needsTrace } from "./questions.js";
import { stopParams } from "./route.js";
import { Visit } from "./visit.js";

export class Course {
  asked = null; // the question as askQuestion gives it, and the key of its sentence; null until it is known
  problem = null; // why it cannot be asked: a text of texts.js and its values
  wanted = ""; // what is asked about or being computed

  // t: of the texts; changed: called when something is to be drawn; the others: see panel.js
  constructor({ lesson, stop, live, shown, go, choose, t, changed, meanings = {}, answers = undefined }) {
    this.lesson = lesson;
    this.live = live;
    this.shown = shown;
    this.go = go;
    this.choose = choose;
    this.t = t;
    this.changed = changed;
    this.meanings = meanings;
    this.visit = new Visit(lesson.name, answers);
    this.enter(stopAt(lesson.stops, stop));
  }

  // From 0.
  get place() {
    return this.lesson.stops.indexOf(this.stop);
  }

  // -- going to a stop ---------------------------------------------------------------------------------------------------

  enter(stop) {
    this.stop = stop;
    [this.asked, this.problem, this.wanted] = [null, null, ""];
    this.touched = true; // whether the person has done something since the stop's own view was opened
    this.pressed = true; // whether the stop's cell is pressed
    this.sentence = JSON.stringify(this.shown().sentence); // that was opened; null while it is being opened
  }

  /** Opens the view of a stop; one that is open gets its own sentence again. Returns whether it is still open when it has
   * been drawn. linked: whether the sentence of now is that of a link. */
  async open(stop, linked = false) {
    if (stop === this.stop && !linked) this.visit.type(stop.number, null);
    this.enter(stop);
    [this.touched, this.pressed, this.sentence] = [false, !stop.cell, null];
    const sentences = { now: this.shown().sentence, typed: this.visit.typed, linked };
    const params = stopParams(this.lesson.stops, stop, sentences);
    const drawn = this.go({ page: stop.page, params }, stop.number);
    this.update();
    await drawn;
    if (stop !== this.stop) return false;
    this.sentence = JSON.stringify(this.shown().sentence);
    this.update();
    return true;
  }

  /** What is shown has changed. number: of the stop, after back or forward. */
  update(number = this.stop.number) {
    if (number !== this.stop.number) this.enter(stopAt(this.lesson.stops, number));
    this.capture();
    this.changed();
    return this.follow();
  }

  // The view of now is the stop's own until somebody changes it; pages may complete their links after they are drawn.
  capture() {
    const typed = this.stop.number in this.visit.typed;
    if (!this.touched && !typed) this.visit.see(this.stop.number, this.shown().link);
  }

  // Whether the view is another one than the stop's own.
  get isAway() {
    return this.visit.links[this.stop.number] !== this.shown().link;
  }

  // -- the question ------------------------------------------------------------------------------------------------------

  /** Asks about the sentence of now, and remembers one that was typed at the stop. */
  follow() {
    const now = this.shown().sentence;
    if (this.sentence !== null && this.sentence !== JSON.stringify(now)) {
      this.sentence = JSON.stringify(now);
      this.visit.type(this.stop.number, now);
    }
    return this.ask(now.checkpoint);
  }

  async ask(checkpoint) {
    const { stop, live } = this;
    const { engine, sentence, limit } = live;
    const needs = Boolean(stop.cell || (stop.question && needsTrace(stop.question)));
    const wanted = JSON.stringify([stop.number, needs && [checkpoint, engine?.about?.name, sentence, limit]]);
    if (wanted === this.wanted) return;
    this.wanted = wanted;
    const found = { asked: null, problem: null };
    try {
      if (!needs || engine?.about?.name === checkpoint) found.asked = await this.evaluate(needs, wanted);
    } catch (error) {
      if (error.name === "Dropped") {
        if (wanted === this.wanted) this.wanted = "";
        return;
      }
      if (error.name !== "AnswerError" && error.name !== "InputError") throw error;
      found.problem = error.name === "AnswerError" ? [error.text, error.values] : ["unreadable"];
    }
    if (wanted !== this.wanted) return;
    Object.assign(this, found);
    this.changed();
  }

  async evaluate(needs, wanted) {
    const { stop, live } = this;
    const { engine, sentence, limit } = live;
    const model = { about: engine?.about, trace: (given) => engine.trace({ ...given, limit, channel: "lesson" }) };
    const trace = needs ? await model.trace(sentence) : null;
    if (wanted !== this.wanted) return null;
    if (!this.pressed) await this.press(model, trace);
    if (!stop.question) return null;
    const key = trace ? JSON.stringify([trace.checkpoint, trace.source_text, trace.target_text]) : "";
    return { ...(await askQuestion(stop.question, trace, model, this.meanings)), key };
  }

  // On arrival: presses the cell that the stop names, if this sentence has it.
  async press(model, trace) {
    this.pressed = true;
    const cell = await computeAnswer(model, trace, this.stop.cell).catch(() => null);
    if (!cell) return;
    this.choose({ cell: indicesOf(String(cell)) });
    this.capture();
  }

  // The answer to the question as it is asked now.
  get given() {
    return this.asked && this.visit.answer(this.stop.number, this.asked.key);
  }

  /** Whether the stop asks a question that is not answered yet. */
  get waits() {
    return Boolean(this.stop.question) && !this.problem && !this.given;
  }

  get isItsPage() {
    return this.shown().page === this.stop.page;
  }

  /** Whether nothing but the question, and a view that it does not cover, is to be seen. Of another sentence the question
   * is asked again, and lets those who have answered explore. */
  get predicts() {
    const { stop, problem, visit } = this;
    return Boolean(stop.question) && !problem && !visit.last(stop.number) && this.isItsPage;
  }

  /** Whether what gives the answer away is covered; other pages give nothing away. */
  get covered() {
    return this.predicts && this.stop.question.cover;
  }

  /** @param {string | string[]} answer as isRight takes it */
  give(answer) {
    const { stop, asked, t } = this;
    const { question } = stop;
    const right = asked.right === null ? "" : inWords(t, asked.right, question.kind);
    const verdict = isRight(question, answer, asked.right);
    this.visit.give(stop.number, asked.key, { text: inWords(t, answer, question.kind), right, verdict });
    if (verdict === false) this.showRight(question.kind, asked.right);
    this.changed();
  }

  // Chooses in the picture the head or cell that would have been right.
  showRight(kind, right) {
    const [place] = right instanceof Set ? right : [right];
    if (kind === "cell") this.choose({ cell: indicesOf(place) });
    if (kind !== "head" || !place) return; // no head does it
    const [layer, head] = indicesOf(place);
    this.choose({ layer, head });
  }

  /** What is chosen in the picture now, as links name it; "" for nothing. */
  chosen() {
    const { layer, head, cell } = this.shown().view;
    const { kind } = this.stop.question;
    if (kind === "head") return layer === "all" || head === "all" ? "" : `${layer + 1}.${head + 1}`;
    if (!cell) return "";
    const [row, column] = cell.map((index) => index + 1);
    return { cell: `${row},${column}`, row: String(row), token: String(column) }[kind];
  }
}

// The stop with this number or, if that is left out, the next one.
const stopAt = (stops, number) => stops.find((stop) => stop.number >= number) ?? stops.at(-1);
