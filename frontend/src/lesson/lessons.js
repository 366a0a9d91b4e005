// The lessons of a site: of its files (transformer/web/lessons.py), what its pages can show.
import { withSentences } from "./route.js";

const LEAST = 0.5; // of its stops, for a lesson to be shown

/**
 * @param {{language: string, pages: {name: string, parts: string[]}[], open: (path: string) => Promise<Response>}} site
 * parts: of the app's page, those that the site has
 */
export async function readLessons({ language, pages, open }) {
  const parts = Object.fromEntries(pages.map((page) => [page.name, page.parts]));
  const lessons = await (await open(`lessons/${language}.json`)).json();
  return lessons.map((lesson) => shownLesson(lesson, parts)).filter(Boolean);
}

// A lesson with the stops that can be shown, or null if those are less than half. A stop needs its page, and the part of it
// that it names. parts: of each page.
export function shownLesson(lesson, parts) {
  const fits = ({ page, params: { part } }) => page in parts && (part === undefined || parts[page].includes(part));
  const stops = withSentences(lesson.stops).filter(fits);
  return stops.length >= LEAST * lesson.stops.length ? { ...lesson, stops, all: lesson.stops.length } : null;
}

export const questionsOf = ({ stops }) => stops.map(({ question }) => question).filter(Boolean);
