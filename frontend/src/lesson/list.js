// The list of lessons.
import { el } from "../core/dom.js";
import { makeTexts } from "../core/texts.js";
import { answersOf } from "./answered.js";
import { questionsOf } from "./lessons.js";
import { LESSON_TEXTS } from "./texts.js";
import { Visit } from "./visit.js";

/**
 * @param {HTMLElement} root
 * @param {any[]} lessons of readLessons
 * @param {Record<string, string>} texts translations
 * @param {(name: string) => void} start called with the name of a lesson that begins, without answers
 */
export function drawList(root, lessons, texts, start) {
  const t = makeTexts(texts, LESSON_TEXTS);
  root.append(el("p", { class: "hs-lesson-leads" }, t("leads")), ...lessons.map((lesson) => card(t, lesson, start)));
}

function card(t, lesson, start) {
  const { name, title, about, minutes, all, stops } = lesson;
  const visit = new Visit(name);
  const answered = stops.some(({ number }) => visit.last(number));
  const counts = { minutes, all, stops: stops.length, questions: questionsOf(lesson).length };
  const begin = () => {
    visit.clear();
    start(name);
  };
  const attributes = {
    type: "button",
    class: "hs-button hs-primary",
    "data-testid": `lesson-start-${name}`,
    click: begin,
  };
  return el(
    "section",
    { class: "hs-lesson-card" },
    el("h2", null, title),
    el("p", null, about),
    el("p", { class: "hs-lesson-quiet" }, t(stops.length < all ? "counts_some" : "counts", counts)),
    answered ? answersOf(t, lesson, visit) : null,
    el("button", { ...attributes, title: answered ? t("deletes") : null }, t(answered ? "again" : "start")),
  );
}
