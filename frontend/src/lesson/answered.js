// What a person has answered: at a stop, and of a whole lesson.
import { buttonEl, el } from "../core/dom.js";
import { fileStem, saveFile } from "../core/save.js";
import { cardsOf } from "./fields.js";
import { questionsOf } from "./lessons.js";

// An answer in the reader's language; a token stays what it is.
export const spelled = ({ said }, answer) =>
  answer
    .split(" → ")
    .map((one) => said[one] ?? one)
    .join(" → ");

export const pairList = (name, pairs) =>
  el("dl", { class: name }, ...pairs.flatMap(([term, text]) => [el("dt", null, term), el("dd", null, text)]));

// What was answered and what is right, with what each is called; what is not known is left out.
function bothAnswers(t, question, { text, right }) {
  const both = [
    [t("your_answer"), text],
    [t(question.kind === "text" ? "example" : "right_answer"), right],
  ];
  return both.filter(([, answer]) => answer).map(([term, answer]) => [term, spelled(question, answer)]);
}

/** The options of a question that was answered, as cards. label: an option as the reader reads it. @param {any} t
 * @param {string[]} options @param {import("./visit.js").Given} given @param {(option: string) => string} label */
export function cards(t, options, given, label) {
  const card = (option) => {
    const [right, mine] = [option === given.right, option === given.text];
    const note = (name) => el("em", null, t(name));
    const kinds = [right && "hs-right", mine && "hs-mine"].filter(Boolean).join(" ");
    return el(
      "li",
      { class: kinds },
      el("span", null, label(option)),
      right ? note("right_answer") : null,
      mine ? note("your_answer") : null,
    );
  };
  return el("ol", { class: cardsOf(options) }, ...options.map(card));
}

/** What was answered, what is right and why; of a choice, its cards say the first two.
 * @param {any} t @param {any} question @param {import("./visit.js").Given} given */
export function reveal(t, question, given) {
  const verdict = given.verdict === null ? null : el("b", null, t(given.verdict ? "right" : "wrong"));
  const said = el("p", { class: "hs-lesson-verdict", "data-right": given.verdict }, verdict, " ", question.why);
  const both = question.kind === "choose" ? [] : bothAnswers(t, question, given);
  const list = both.length ? pairList("hs-lesson-reveal", both) : null;
  return el("div", { tabindex: "-1", "data-testid": "lesson-reveal" }, list, said);
}

/** How many questions were answered, how many of them right, and each with what is right and why.
 * @param {any} t @param {any} lesson @param {import("./visit.js").Visit} visit */
export function answersOf(t, lesson, visit) {
  const scored = questionsOf(lesson).filter(({ kind }) => kind !== "text").length;
  const given = lesson.stops.flatMap((stop, at) => {
    const answer = stop.question && visit.last(stop.number);
    return answer ? [{ stop, place: at + 1, answer }] : [];
  });
  const counted = given.filter(({ answer }) => answer.verdict !== null);
  const right = counted.filter(({ answer }) => answer.verdict).length;
  const key = scored < questionsOf(lesson).length ? "sum_scored" : "sum";
  const sum = t(key, { count: counted.length, asked: scored, right });
  const notes = given.map(({ stop: { title, question }, place, answer }) => [
    `${{ true: "✓ ", false: "✗ " }[String(answer.verdict)] ?? ""}${place}. ${title}`,
    question.ask,
    ...bothAnswers(t, question, answer).map((pair) => pair.join(": ")),
    ...(question.why ? [question.why] : []),
  ]);
  const note = ([title, ...lines]) => el("p", null, el("b", null, title), ...lines.flatMap((line) => [el("br"), line]));
  const text = [[lesson.title, sum], ...notes].map((lines) => lines.join("\n")).join("\n\n");
  const save = () => saveFile(`${fileStem([lesson.name])}.txt`, text, "text/plain;charset=utf-8");
  const button = buttonEl({ class: "hs-button", click: save }, t("save"));
  return el(
    "div",
    { class: "hs-lesson-answers", hidden: !scored },
    el("p", null, sum),
    notes.length ? el("details", null, el("summary", null, t("your_answers")), ...notes.map(note), button) : null,
  );
}
