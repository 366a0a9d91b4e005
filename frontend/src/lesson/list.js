// The list of lessons.
import { buttonEl, el } from "../core/dom.js";
import { makeTexts } from "../core/texts.js";
import { answersOf } from "./answered.js";
import { questionsOf } from "./lessons.js";
import { LESSON_TEXTS } from "./texts.js";
import { Visit } from "./visit.js";

// lessons: of readLessons; start: called with the name of a lesson that begins, without answers.
export function drawList(root, lessons, texts, start) {
  const t = makeTexts(texts, LESSON_TEXTS);
  const cards = (some) => some.map((lesson) => card(t, lesson, start));
  root.append(
    el("p", { class: "hs-lesson-leads" }, t("leads")),
    ...cards(lessons.filter(({ first }) => first)),
    el("div", { class: "hs-lesson-cards" }, ...cards(lessons.filter(({ first }) => !first))),
  );
}

function card(t, lesson, start) {
  const { name, title, about, minutes, all, stops, first, picture } = lesson;
  const visit = new Visit(name);
  const answered = stops.some(({ number }) => visit.last(number));
  const counts = { minutes, all, stops: stops.length, questions: questionsOf(lesson).length };
  const begin = () => {
    visit.clear();
    start(name);
  };
  const look = first ? "hs-button hs-primary" : "hs-button";
  const attributes = { class: look, "data-testid": `lesson-start-${name}`, click: begin };
  return el(
    "section",
    { class: `hs-lesson-card${first ? " hs-lesson-first" : ""}` },
    picture ? el("img", { class: "hs-card-picture", src: picture, alt: "" }) : null,
    first ? el("p", { class: "hs-card-new" }, t("new_here")) : null,
    el("h2", null, title),
    el("p", null, about),
    el("p", { class: "hs-lesson-quiet" }, t(stops.length < all ? "counts_some" : "counts", counts)),
    answered ? answersOf(t, lesson, visit) : null,
    buttonEl({ ...attributes, title: answered ? t("deletes") : null }, t(answered ? "again" : "start")),
  );
}
