// Where a stop leads: its link, and the sentence that is open there. As pages/frame/lesson.py.

const SENTENCE = ["checkpoint", "source", "target"];
const NO_VIEW = ["lesson", "stop", "page", "lang", "big", ...SENTENCE];

/** @typedef {{number: number, page: string, params: Record<string, string>, own: any}} Stop number: in the lesson's file,
 * as links have it; own: model and sentence, those of the last stop until then that names one */

/** Whether an address names a lesson and no view, so that the view of the stop is opened. */
export const opensStop = (params) => "lesson" in params && Object.keys(params).every((name) => NO_VIEW.includes(name));

/** Gives every stop its `own`. @param {any[]} stops */
export function withSentences(stops) {
  let own = {};
  return stops.map((stop) => {
    if ("source" in stop.params) own = pick(stop.params);
    return { ...stop, own };
  });
}

const pick = (params) => Object.fromEntries(SENTENCE.flatMap((name) => (name in params ? [[name, params[name]]] : [])));

/** What a person typed at the stop or, where no stop names a sentence in between, at the last one before it.
 * @param {Stop[]} stops @param {Stop} stop @param {Record<string, any>} typed stop -> sentence */
function typedFor(stops, stop, typed) {
  const before = stops.filter(
    (one) => one.number < stop.number && one.own === stop.own && !("source" in one.params) && one.number in typed,
  );
  return typed[stop.number] ?? ("source" in stop.params ? null : (typed[before.at(-1)?.number] ?? null));
}

/**
 * The parameters of a stop's link, without the lesson and its stop.
 * @param {Stop[]} stops
 * @param {Stop} stop
 * @param {{now: any, typed?: any, linked?: boolean}} sentences now: model and sentence on the screen or, if it is linked,
 * of the link, which brings the sentence of a stop that names none; typed: stop -> what a person typed there
 * @returns {Record<string, string>}
 */
export function stopParams(stops, stop, { now, typed = {}, linked = false }) {
  const params = { ...stop.params };
  params.checkpoint ??= now.checkpoint ?? stop.own.checkpoint;
  const fits = (pair) => pair && "source" in pair && (pair.checkpoint ?? params.checkpoint) === params.checkpoint;
  const first = linked && !("source" in params) ? now : null;
  const pair = [typedFor(stops, stop, typed), first, stop.own, now].find(fits);
  if (!pair) return params;
  const { target: _, ...others } = params;
  return { ...others, source: pair.source, ...(pair.target && { target: pair.target }) };
}
