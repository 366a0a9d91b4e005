// The frame around the pages of the site: what is shown and its link, the sentence, the model, and the open page.
import { buttonEl, el } from "../core/dom.js";
import { makeTexts } from "../core/texts.js";
import { Live, markFresh, markStale } from "../live/live.js";
import { readLessons } from "../lesson/lessons.js";
import { opensStop } from "../lesson/route.js";
import { mergeState } from "../state/state.js";
import { addressOf, ofExample, readAddress, splitAddress, viewOf } from "./address.js";
import { findProblems, readersOf } from "./check.js";
import { fileAddress, isSingleFile, openFile, openPack } from "./files.js";
import { Header } from "./header.js";
import { AddressBar } from "./history.js";
import { kept } from "../core/kept.js";
import { ModelLoader } from "./loader.js";
import { Messages } from "./messages.js";
import { PAGES } from "./pages/index.js";
import { PAGE_TEXTS } from "./pages/texts.js";
import { SentenceFields } from "./sentence.js";
import { SITE_TEXTS } from "./texts.js";

const LIMIT = 128; // tokens of each side, as in the app
const NOTHING = { mount: () => ({ destroy() {} }) }; // of a page that could not be loaded

// After a script could not be loaded: in Chromium 150 a module that failed once fails at every later import, so the page is
// loaded anew, once it can be reached. Its address has what it shows.
async function reload() {
  const found = await fetch(location.href, { method: "HEAD", cache: "no-store" }).catch(() => null);
  if (found?.ok) location.reload();
}

export class Frame {
  /** @param {any} site of site.json: {languages: {code: name}, models: [{about, examples, alignment}]} */
  constructor(site) {
    this.site = site;
    this.pages = PAGES.filter(({ name }) => name !== "lessons" || site.lessons);
    this.live = new Live();
    this.messages = new Messages();
    this.loader = new ModelLoader(this);
    this.sheets = new Map(); // entry of dist/ -> its style sheet
    this.typed = new Map(); // languages of a model -> the texts last seen in its fields
    this.page = { destroy() {}, show() {} }; // what is mounted
    this.waiting = (_) => null; // name of the text, if it shows nothing of these switches
    this.turn = 0; // of opening a page
    this.lesson = null; // of lesson/panel.js, when one is open
  }

  async start() {
    this.bar = new AddressBar(() => this.arrive());
    this.live.onChange(() => this.check());
    this.read();
    this.paint(kept("colours") ?? "system");
    this.enlarge(this.state.view.big || kept("big") === "1");
    await this.speak(this.wantedLanguage());
  }

  get model() {
    return this.site.models.find(({ about }) => about.name === this.state.checkpoint);
  }

  get entry() {
    return PAGES.find(({ name }) => name === this.state.page);
  }

  get limit() {
    return Math.min(LIMIT, this.model.about.config.max_positions);
  }

  // The example that stands in the fields.
  get example() {
    const { source, target } = this.state;
    return this.model.examples.find((one) => one.source === source && one.target === target);
  }

  translate(text) {
    return this.live.texts[text] ?? text;
  }

  // -- what belongs to the viewer ------------------------------------------------------------------------------------

  wantedLanguage() {
    const asked = [new URL(location.href).searchParams.get("lang"), kept("language"), ...navigator.languages];
    const codes = Object.keys(this.site.languages);
    const found = asked.map((wanted) => codes.find((code) => wanted === code || wanted?.startsWith(`${code}-`)));
    return found.find(Boolean) ?? codes[0];
  }

  // In another language everything is drawn anew; the model stays.
  async speak(code) {
    const { texts, meanings } = await (await openFile(`texts/${code}.json`)).json();
    this.language = code;
    this.meanings = meanings;
    this.t = makeTexts(texts, { ...SITE_TEXTS, ...PAGE_TEXTS });
    document.documentElement.lang = code;
    this.live.set({ texts });
    this.build();
    await this.show();
  }

  /** @param {string} name "system", "light" or "dark" */
  paint(name) {
    this.colours = name;
    document.documentElement.dataset.theme = name;
  }

  enlarge(big) {
    this.state.view = { ...this.state.view, big };
    document.documentElement.toggleAttribute("data-big", big);
    this.page.show();
  }

  // -- what is shown -------------------------------------------------------------------------------------------------

  // Takes over what the address asks for.
  read(address = location.href) {
    const { shown, notices } = readAddress(address, fileAddress(""), this.site, this.pages);
    const { view, options } = this.state ?? shown;
    this.state = { ...shown, view: { ...shown.view, big: view.big }, options: { ...options, ...shown.options } };
    this.notices = notices;
  }

  // The reader went back or forward.
  arrive() {
    const { checkpoint } = this.state;
    this.read();
    if (checkpoint !== this.state.checkpoint) this.buildFields();
    this.show();
  }

  href(page = this.state.page) {
    return fileAddress(addressOf({ ...this.state, page }, PAGES, !isSingleFile()));
  }

  // Changes by the reader go into the link; what follows from them is drawn by whoever changed it.
  change(changes) {
    Object.assign(this.state, changes);
    this.notices = [];
    this.messages.say("link", []);
    this.header.draw();
    this.bar.write(this.href());
    this.lesson?.update();
  }

  openPage(name) {
    this.change({ page: name });
    this.bar.flush();
    return this.show();
  }

  type(texts) {
    this.change(texts);
    this.ask();
  }

  openExample({ source, target, view }) {
    this.change({ source, target, view: ofExample(this.state.view, viewOf(view, this.model)) });
    return this.show();
  }

  // Between models of the same languages the sentence stays, so that they can be compared. text: to show there.
  openModel(name, text = "") {
    const { model: before, state } = this;
    this.typed.set(String(before.about.languages), { source: state.source, target: state.target });
    this.change({ checkpoint: name });
    const { languages } = this.model.about;
    this.buildFields();
    const [example] = this.model.examples;
    const texts = text ? { source: text, target: "" } : this.typed.get(String(languages));
    if (text && example) {
      const { cell: _, ...view } = example.view; // the cell of another sentence
      return this.openExample({ ...texts, view });
    }
    if (texts) this.change(texts);
    else if (example) return this.openExample(example);
    return this.show();
  }

  // -- drawing -------------------------------------------------------------------------------------------------------

  build() {
    this.header = new Header(this);
    this.fields = new SentenceFields(this);
    this.tabs = el("nav", { class: "hs-seg hs-parts", hidden: true });
    this.content = el("div", { class: "hs-page" });
    this.heading = el("h1", { class: "hs-spoken" });
    const main = el(
      "main",
      { id: "hs-content", tabindex: "-1" },
      this.heading,
      this.fields.element,
      this.messages.element,
      this.tabs,
      this.content,
    );
    this.lesson?.destroy();
    this.lesson = null;
    this.aside = el("aside", { hidden: true });
    document.body.replaceChildren(this.header.element, main, this.aside);
    this.mounted = null;
  }

  // The fields and examples of another model.
  buildFields() {
    const { element } = this.fields;
    this.fields = new SentenceFields(this);
    element.replaceWith(this.fields.element);
  }

  // Draws everything that follows from the state.
  async show() {
    this.header.draw();
    const notices = this.notices.map(([name, values]) => ({ kind: "warning", text: this.t(name, values) }));
    this.messages.say("link", notices);
    this.ask();
    this.loader.open(this.model.about);
    this.check();
    await this.showLesson(); // before the page, which it may cover
    await this.mount();
  }

  // -- the lesson beside the page --------------------------------------------------------------------------------------

  lessons() {
    return readLessons({ language: this.language, pages: this.pages, open: openFile });
  }

  openLesson(name) {
    this.change({ lesson: { name, stop: 1 } });
    return this.showLesson(true);
  }

  // Shows or updates the panel of the lesson of the state. started: whether the view of its stop is to be opened, as by a
  // link that names none.
  async showLesson(started = false) {
    const { lesson: wanted } = this.state;
    if (this.lesson?.name === wanted?.name) return this.lesson?.update(wanted.stop);
    this.lesson?.destroy();
    this.lesson = null;
    this.aside.hidden = true;
    if (!wanted) return undefined;
    const { params } = splitAddress(location.href, fileAddress(""));
    const linked = !started && opensStop(params);
    /** @type {Promise<any[]>} */
    const needed = Promise.all([import("../lesson/panel.js"), this.site.lessons ? this.lessons() : []]);
    const [panel, lessons] = await needed.catch((error) => {
      this.fail(error, reload, "link");
      return [null, []];
    });
    if (!panel) return undefined; // the page opens without its lesson
    const lesson = lessons.find(({ name }) => name === wanted.name);
    if (wanted.name !== this.state.lesson?.name || this.lesson) return undefined;
    if (!lesson) return this.change({ lesson: null });
    this.aside.hidden = false;
    const mounted = panel.mountLesson(this.aside, {
      lesson,
      stop: wanted.stop,
      arrive: started || linked,
      linked: linked && "source" in params,
      live: this.live,
      texts: this.live.texts,
      meanings: this.meanings,
      shown: () => {
        const { page, view, checkpoint, source, target } = this.state;
        return { page, view, sentence: { checkpoint, source, target }, link: this.href() };
      },
      go: ({ page, params: asked }, stop) => this.openStop(page, { ...asked, lesson: lesson.name, stop }),
      choose: (view) => {
        this.change({ view: { ...this.state.view, ...view } });
        this.page.show();
      },
      places: () => ({ picture: this.content, parts: this.tabs, sentence: this.fields.element }),
      leave: () => {
        this.change({ lesson: null });
        this.openPage("lessons");
      },
    });
    this.lesson = { ...mounted, name: lesson.name };
  }

  // Opens a view as its link does.
  openStop(page, params) {
    const { checkpoint } = this.state;
    const address = new URL(fileAddress(""));
    address.search = String(new URLSearchParams({ page, ...params }));
    this.read(address.href);
    if (checkpoint !== this.state.checkpoint) this.buildFields();
    this.bar.write(this.href());
    this.bar.flush();
    return this.show();
  }

  // Has everybody who follows the sentence draw it.
  ask() {
    const { source, target, switches } = this.state;
    const sentence = { source, target };
    if (JSON.stringify(sentence) !== JSON.stringify(this.live.sentence)) markStale();
    this.fields.draw();
    this.live.set({ sentence, switches, limit: this.limit });
    this.tellWaiting();
  }

  // Says so if the link has switches that have no effect on what is shown.
  tellWaiting() {
    const { switches } = this.state;
    const name = Object.keys(switches).length ? this.waiting(switches) : null;
    this.messages.say("switches", name ? [{ kind: "note", text: this.t(name) }] : []);
  }

  // Says what is wrong with the texts, and counts their tokens.
  async check() {
    const { engine, sentence, limit } = this.live;
    if (!engine) return;
    const read = await engine.count(sentence).catch(() => null); // the engine was closed
    if (!read || sentence !== this.live.sentence || engine !== this.live.engine) return;
    this.fields.draw(read);
    const problems = findProblems(sentence, read, engine.about, limit).map(([kind, name, values]) => ({
      kind,
      text: this.t(name, {
        ...values,
        language: this.translate(values.language),
        words: values.outside && this.nameWords(values.outside),
      }),
      press: kind === "warning" ? this.reader(sentence.source) : undefined,
    }));
    this.messages.say("text", problems);
  }

  // Words that are not in a closed vocabulary, with those near them.
  nameWords({ named, more }) {
    const names = named.map(([word, near]) =>
      near.length ? this.t("near_words", { word, words: near.join(", ") }) : word,
    );
    return [...names, ...(more ? ["…"] : [])].join(", ");
  }

  /**
   * A button that opens a model of the site which reads a text that this one does not.
   * @returns {[string, () => void] | undefined}
   */
  reader(text) {
    const [found] = readersOf(text, this.site.models, this.state.checkpoint);
    if (!found) return undefined;
    const { name, reads, kept: stays } = found;
    const open = () => this.openModel(name, stays ? text : "");
    return [this.t("open_reader", { name, language: this.t(reads) }), open];
  }

  // Opens the page, unless it is open.
  async mount() {
    const { entry, state } = this;
    const options = (state.options[entry.name] ??= {});
    const key = JSON.stringify([entry.name, options.part, state.checkpoint]);
    if (key === this.mounted) return this.page.show();
    this.mounted = key;
    const turn = ++this.turn;
    this.messages.say("page", []);
    try {
      const [{ page }] = await Promise.all([entry.open(), ...entry.styles.map((name) => this.style(name))]);
      if (turn === this.turn) this.draw(page, options.part);
    } catch (error) {
      if (turn !== this.turn) return undefined;
      this.draw(NOTHING);
      this.mounted = null;
      this.fail(error, reload);
    }
  }

  // Says that something could not be loaded.
  fail({ message }, again, group = "page") {
    const text = this.t("page_failed", { reason: message.replace(/\.$/, "") });
    this.messages.say(group, [{ kind: "error", text, press: [this.t("again"), again] }]);
  }

  // What a page waits for. If it cannot be loaded, that is said, and the page draws nothing of it.
  needed(promise) {
    return promise.catch((error) => {
      this.fail(error, () => this.again());
      return new Promise(() => {});
    });
  }

  draw(page, asked) {
    this.page.destroy();
    this.page = { destroy() {}, show() {} };
    markFresh(); // no old picture is left
    this.heading.textContent = this.t(this.entry.title);
    document.title = `${this.heading.textContent} · Headscope`;
    const parts = page.parts?.() ?? [];
    const part = parts.find(([name]) => name === asked)?.[0] ?? parts[0]?.[0];
    this.drawTabs(parts, part);
    this.fields.element.hidden = page.sentence === false || Boolean(page.alone?.includes(part));
    const root = el("div");
    this.content.replaceChildren(root);
    const handle = page.mount(root, this.forPage(part));
    this.page = { show: () => this.again(), ...handle };
    this.waiting = (switches) => page.waiting?.(part, switches);
    this.tellWaiting();
  }

  // A page that cannot take over a state from elsewhere is mounted anew.
  again() {
    this.mounted = null;
    return this.mount();
  }

  drawTabs(parts, chosen) {
    this.tabs.hidden = parts.length < 2;
    const tab = ([name, text]) =>
      buttonEl({ "aria-pressed": String(name === chosen), click: () => this.openPart(name) }, this.translate(text));
    this.tabs.replaceChildren(...parts.map(tab));
    const shown = this.tabs.querySelector('[aria-pressed="true"]'); // on a phone it may be to the right
    if (shown) this.tabs.scrollLeft = shown.offsetLeft + (shown.offsetWidth - this.tabs.offsetWidth) / 2;
  }

  openPart(name) {
    this.setOption(this.state.page, "part", name);
    return this.mount();
  }

  // page: it may have been left since, by a picture that reports late
  setOption(page, name, value) {
    const { options } = this.state;
    const { [name]: _, ...others } = options[page];
    const chosen = value === null || value === undefined ? others : { ...others, [name]: String(value) };
    this.change({ options: { ...options, [page]: chosen } });
  }

  // -- what a page gets ----------------------------------------------------------------------------------------------

  // Loads a style sheet of dist/, which every component needs before it measures itself.
  async style(name) {
    if (this.sheets.has(name)) return;
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(await (await openFile(`${name}.css`)).text());
    this.sheets.set(name, sheet);
  }

  shadow(root, name) {
    const shadow = root.attachShadow({ mode: "open" });
    shadow.adoptedStyleSheets = [this.sheets.get(name)];
    return shadow;
  }

  forPage(part) {
    const frame = this;
    const { name } = this.entry;
    return {
      part,
      live: this.live,
      language: this.language,
      t: this.t,
      texts: this.live.texts,
      meanings: this.meanings,
      model: this.model,
      about: this.model.about,
      // The example that stands in the fields.
      get example() {
        return frame.example;
      },
      translate: (text) => this.translate(text),
      get view() {
        return frame.state.view;
      },
      setView: (partial) =>
        this.change({ view: mergeState(this.state.view, { ...partial, big: this.state.view.big }) }),
      type: (sentence) => this.type(sentence),
      setSwitches: (switches) => {
        this.change({ switches });
        this.ask();
      },
      options: {
        get: (option) => this.state.options[name]?.[option],
        set: (option, value) => this.setOption(name, option, value),
      },
      openPart: (other) => this.openPart(other),
      teaches: Boolean(this.site.lessons),
      lessons: () => this.needed(this.lessons()),
      openLesson: (name) => this.openLesson(name),
      shadow: (root, entry) => this.shadow(root, entry),
      open: (path) => this.needed(openFile(path)),
      loaded: () => this.messages.say("page", []), // what failed before is no longer what is shown
      file: (path) => this.needed(openFile(`models/${this.state.checkpoint}/${path}`)),
      pack: (path, folder = `models/${this.state.checkpoint}`) => this.needed(openPack(`${folder}/${path}`)),
      // Packs of the first example, which were made with the site; null for any other sentence.
      recorded: async () => {
        const isFirst = () => Boolean(this.example) && this.example === this.site.models[0].examples[0];
        if (!isFirst()) return null;
        const packs = await this.needed(Promise.all(["first.pack", "first-head.pack"].map(openPack)));
        return isFirst() ? packs : null; // somebody may have typed meanwhile
      },
    };
  }
}
