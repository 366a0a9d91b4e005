// What a person answered, typed and was shown in a lesson, for as long as the browser's tab is open.
const PREFIX = "headscope_lesson_";
const memory = new Map(); // where the browser keeps nothing

/** right: the model's answer; both in words. verdict: null where nothing is right or wrong.
 * @typedef {{text: string, right: string, verdict: boolean | null}} Given
 * @typedef {{checkpoint: string, source: string, target: string}} Sentence */

export class Visit {
  /** @type {Record<string, Record<string, Given>>} */ given = {}; // stop -> sentence -> answer
  /** @type {Record<string, Sentence>} */ typed = {}; // stop -> what was typed or chosen there last

  /** @type {Record<string, string>} */ links = {}; // stop -> link of its own view

  /** @param {string} lesson @param {() => Storage} storage may throw */
  constructor(lesson, storage = () => sessionStorage) {
    this.key = PREFIX + lesson;
    this.storage = storage;
    try {
      Object.assign(this, JSON.parse(this.read() ?? "{}"));
    } catch {
      // not ours
    }
  }

  read() {
    try {
      return this.storage().getItem(this.key);
    } catch {
      return memory.get(this.key);
    }
  }

  write() {
    const text = JSON.stringify({ given: this.given, typed: this.typed, links: this.links });
    try {
      this.storage().setItem(this.key, text);
    } catch {
      memory.set(this.key, text);
    }
  }

  /** @returns {Given | undefined} */
  answer = (stop, sentence) => this.given[stop]?.[sentence];

  // The newest answer of a stop.
  /** @returns {Given | undefined} */
  last = (stop) => Object.values(this.given[stop] ?? {}).at(-1);

  /** @param {number} stop @param {string} sentence @param {Given} given */
  give(stop, sentence, given) {
    (this.given[stop] ??= {})[sentence] = given;
    this.write();
  }

  /** @param {number} stop @param {Sentence | null} sentence null: the stop has its own again */
  type(stop, sentence) {
    if (sentence) this.typed[stop] = sentence;
    else delete this.typed[stop];
    this.write();
  }

  /** @param {number} stop @param {string} link */
  see(stop, link) {
    if (this.links[stop] === link) return;
    this.links[stop] = link;
    this.write();
  }

  clear() {
    [this.given, this.typed, this.links] = [{}, {}, {}];
    this.write();
  }
}
