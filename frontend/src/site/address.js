// Links of the site. They are those of the app: exchange what stands before the page's name, and the same is opened.
import { KINDS, layersOf } from "../engine/switches.js";
import { usualNames } from "../lab/params.js";
import { START_VIEW, SWITCHES } from "../state/generated.js";
import { readView, viewParams } from "../state/params.js";

const PAIR = ["checkpoint", "source", "target"];
const LESSON = ["lesson", "stop"];
const UNWRITTEN = ["page", "lang", "big"]; // what no link that is written holds

/**
 * What is shown: the page; the name of the model; the texts as typed; the view; the switches of the Lab; the options of
 * pages.
 * @typedef {{page: string, checkpoint: string, source: string, target: string, view: State,
 *   switches: Record<string, string>, options: Record<string, Record<string, string>>,
 *   lesson: {name: string, stop: number} | null}} Shown
 * A page of the list pages/index.js.
 * @typedef {{name: string, own?: string[]}} PageEntry
 */

// The name of a page and the parameters of an address; "" is the first page. "?page=lab" says the same as "lab/".
export function splitAddress(address, folder) {
  const { pathname, searchParams } = new URL(address);
  const inside = pathname.slice(new URL(folder).pathname.length).replace(/\/?(index\.html)?$/, "");
  const params = Object.fromEntries(searchParams);
  return { name: params.page ?? inside, params };
}

const layersIn = ({ config }) => Object.fromEntries(KINDS.map((kind) => [kind, layersOf(config, kind)]));

// The view that an example of a model opens.
export const viewOf = (params, { about }) => readView(params, layersIn(about), about.config.heads).view;

// The view of an example for whoever looks at another one: `View.of_example` of transformer/view/state.py.
export const ofExample = ({ big, sight, pieces }, view) => ({
  ...view,
  big,
  sight,
  ...(sight !== "all" && { pieces }),
});

// What an address asks for, and what it asks for in vain: [text of texts.js, its values]. site: of site.json.
/** @returns {{shown: Shown, notices: [string, any][]}} */
export function readAddress(address, folder, site, pages) {
  const { models } = site;
  const { name, params } = splitAddress(address, folder);
  /** @type {[string, any][]} */
  const notices = [];
  const page = pages.find((one) => one.name === (name || pages[0].name));
  if (!page) notices.push(["no_page", { name }]);
  const { name: path, own = [] } = page ?? pages[0];
  const asked = params.checkpoint && models.find(({ about }) => about.name === params.checkpoint);
  const model = asked || models[0];
  const { about } = model;
  const checkpoint = about.name;
  if (params.checkpoint && !asked) notices.push(["no_model", { name: params.checkpoint, shown: checkpoint }]);

  const only = (test) => Object.fromEntries(Object.entries(params).filter(([param]) => test(param)));
  const first = params.source === undefined ? model.examples[0] : null;
  const source = params.source ?? first?.source ?? "";
  const target = params.target ?? first?.target ?? "";
  // Somebody without a link sees the first example, with its view.
  const example = model.examples.find((one) => one.source === source);
  const usual = example && !["kind", "layer", "head"].some((param) => param in params) ? example.view : {};
  const wanted = only((param) => !own.includes(param));
  const { view, refused } = readView(wanted, layersIn(about), about.config.heads, viewOf(usual, model));
  if (Object.keys(params).every((param) => UNWRITTEN.includes(param))) view.sight = "first";
  for (const param of refused) notices.push(["refused", { name: param, asked: params[param] }]);
  const shared = [...PAIR, ...LESSON, ...UNWRITTEN, ...SWITCHES, ...Object.keys(START_VIEW)];
  const options = only((param) => own.includes(param) || !shared.includes(param));
  const written = Object.entries(only((param) => SWITCHES.includes(param)));
  const switches = Object.fromEntries(written.map(([name, text]) => [name, usualNames(name, text)]));
  const lesson = params.lesson ? { name: params.lesson, stop: Number.parseInt(params.stop) || 1 } : null;
  const shown = { page: path, checkpoint, source, target, view, switches, options: { [path]: options }, lesson };
  return { shown, notices };
}

// The address of what is shown, below the site's folder. A page with a layer and a head of its own does not show the view.
// paths: whether pages have folders of their own.
/** @param {Shown} shown @param {PageEntry[]} pages @param {boolean} paths */
export function addressOf({ page, checkpoint, source, target, view, switches, options, lesson }, pages, paths) {
  const { own = [] } = pages.find(({ name }) => name === page);
  const params = {
    ...(!paths && page !== pages[0].name && { page }),
    ...{ checkpoint, source },
    ...(target && { target }),
    ...(!own.includes("layer") && !own.includes("head") && viewParams(view)),
    ...switches,
    ...options[page],
    ...(lesson && { lesson: lesson.name, stop: String(lesson.stop) }),
  };
  return `${paths && page !== pages[0].name ? `${page}/` : ""}?${new URLSearchParams(params)}`;
}
