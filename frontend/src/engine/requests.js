// Answers requests with a model, one after the other. Within a channel only the newest counts: an older one is dropped,
// also between two steps of its pass.
import { Dropped } from "./model.js";

/**
 * id: of the request; call: a method of Model; parts: whether somebody draws what is known first.
 * @typedef {{id: number, call: string, asked: any, channel?: string, parts?: boolean}} Request
 */

export class Requests {
  waiting = new Map(); // channel, or id without one -> its newest request, in the order of arrival
  written = new Map(); // channel -> {source, ids}: the translation written last, which may hold for the next text
  working = false;

  // send(message, buffers): a message to the page, which gets these buffers; breathe(): lets newer requests arrive
  constructor(model, send, breathe) {
    this.model = model;
    this.send = send;
    this.breathe = breathe;
  }

  /** @param {Request} request */
  add(request) {
    const queue = request.channel ?? request.id;
    const older = this.waiting.get(queue);
    if (older) this.fail(older, new Dropped());
    this.waiting.set(queue, request);
    if (!this.working) this.work();
  }

  fail({ id }, error) {
    this.send({ id, error: { name: error.name, message: String(error.message ?? error), about: error.about } }, []);
  }

  async work() {
    this.working = true;
    for (; this.waiting.size; await this.breathe()) {
      const [queue, request] = this.waiting.entries().next().value;
      this.waiting.delete(queue);
      try {
        await this.answer(request);
      } catch (error) {
        this.fail(request, error);
      }
    }
    this.working = false;
  }

  async answer({ id, call, asked, parts, channel }) {
    const { source } = asked;
    const remember = (ids) => channel !== undefined && this.written.set(channel, { source, ids });
    const sent = new Set(); // names of a trace that the page has already
    const before = this.written.get(channel);
    const draft = before && alike(before.source, source) ? before.ids : [];
    const part = async (found) => {
      if (found.ids) remember([...found.ids, ...draft.slice(found.ids.length)]);
      if (parts && found.trace) {
        const { trace, needed, ...about } = found;
        const early = Object.fromEntries(Object.entries(trace).filter(([name]) => name !== needed && !sent.has(name)));
        Object.keys(early).forEach((name) => sent.add(name));
        this.send({ id, part: { ...about, trace: early } }, buffersOf(early));
      } else if (parts) this.send({ id, part: found }, []);
      await this.breathe();
      return !this.waiting.has(channel);
    };
    const result = await this.model[call]({ ...asked, draft }, part);
    const rest = sent.size ? Object.fromEntries(Object.entries(result).filter(([name]) => !sent.has(name))) : result;
    if (result.own) remember(result.target_out_ids);
    this.send({ id, result: rest }, buffersOf(rest));
  }
}

// Whether one text may be the other after some keys: at least half of the longer one begins or ends both. The pass that
// checks a draft takes as long as writing a few words, and is lost where none of them holds.
function alike(one, other) {
  const least = Math.min(one.length, other.length);
  let [begin, end] = [0, 0];
  while (begin < least && one[begin] === other[begin]) begin++;
  while (end < least - begin && one.at(-1 - end) === other.at(-1 - end)) end++;
  return 2 * (begin + end) >= Math.max(one.length, other.length);
}

// All buffers of numbers in a value, each once.
function buffersOf(value, found = new Set()) {
  if (ArrayBuffer.isView(value)) found.add(value.buffer);
  else if (value && typeof value === "object") for (const inner of Object.values(value)) buffersOf(inner, found);
  return [...found];
}
