// The anatomy while one types, presses switches and moves: every pass and every pack is made in the page.
import { needsServer } from "../engine/switches.js";
import { compare } from "../lab/comparison.js";
import { isQuiet, markFresh } from "../live/live.js";
import { LONGEST_DRAWN } from "../state/generated.js";
import { isNear } from "./panel/facts.js";
import * as make from "./from_trace.js";
import { traceName } from "./walk.js";

const CHANNEL = "anatomy"; // of the engine: here too the newest text wins

/**
 * Lets a drawing follow the sentence and its own switches, from the first pack on: of the sort "facts" where the server
 * sends no numbers. Returns a function that stops it.
 * @param {import("./view.js").AnatomyView} view
 * @param {import("../live/live.js").Live} live
 */
export function liveAnatomy(view, live) {
  let server = null; // what its last pack says beside the numbers
  let ordered = null; // a pack whose state and switches the drawing takes over with its first numbers
  let model = null; // the parameters and pieces that are known of the engine's model
  let asked = ""; // what is drawn or being computed
  let found = null; // the passes that are drawn, and the id of their packs

  const switches = () => (ordered ? ordered.switches : view.switches.params());
  const possible = () =>
    live.engine && server?.checkpoint === live.engine.about.name && !needsServer(switches(), live.engine.about).length;

  const follow = async () => {
    if (!possible()) return leave();
    const { engine } = live;
    const wanted = { sentence: live.sentence, limit: live.limit, switches: switches() };
    const text = JSON.stringify(wanted);
    if (!wanted.sentence.source.trim() || text === asked) return undefined;
    asked = text;
    try {
      model = await knownOf(engine, server, model);
      const passes = await passesOf(engine, wanted, found);
      if (!passes.long) await addPieces(engine, model, passes.trace);
      if (text === asked) show(passes);
    } catch (error) {
      if (!isQuiet(error)) throw error;
      if (text === asked) asked = ""; // the fields say what is wrong with the text
    }
    return undefined;
  };

  // The server draws: another model is open, or a switch that only it can compute is set.
  const leave = () => {
    [asked, found] = ["", null];
    view.element.style.removeProperty("--hs-stale");
  };

  const show = (passes) => {
    markFresh(view.element);
    const { wanted, trace, before, whole, long } = passes;
    const drawn = view.data.trace && view.data.header;
    const same = !found && !ordered && drawn && sameTokens(drawn, trace, wanted.switches);
    const how = found && sameText(found.wanted, wanted) ? "step" : "cut";
    found = passes;
    if (long) return view.show([{ header: { sort: "long", limit: LONGEST_DRAWN, ...long } }]);
    const header = {
      state: ordered ? ordered.state : { revision: view.revision },
      switches: wanted.switches,
      unapplied: { ...server.refused, ...without(trace.switches, wanted.switches) },
      texts: server.texts,
      whole,
    };
    const pack = make.tracePack(trace, before, factsOf(server), model.pieces, header);
    ordered = null;
    found.id = same ? drawn.id : pack.header.id;
    if (!same) return view.show([pack], how);
    if (view.data.waiting) return view.show([]); // a place that was not sent; the rest stays as the server has drawn it
    return undefined;
  };

  // Puts what the state needs into the data. Returns whether the engine makes it.
  const moved = () => {
    if (!found || found.long) return false;
    const { data, state } = view;
    const { trace, before, id } = found;
    const open = data.open?.header;
    if (open?.id !== id || open.encoder !== state.encoder || open.decoder !== state.decoder)
      data.take(make.openPack(trace, state.encoder, state.decoder, id));
    if (!isNear(state)) return true;
    const place = traceName(state);
    const t = place === "output" ? state.t : 0;
    if (!data.placePack) {
      const parameters = parametersOf(place, t);
      if (parameters) data.take(make.placePack(trace, before, factsOf(server), parameters, place, t, id));
    }
    if (data.placePack && data.waiting) loadWeights(place, state.step);
    return true;
  };

  // The parameters of a place; null while some are on their way.
  const parametersOf = (place, t) => {
    const rows = make.rowsOf(found.trace, factsOf(server), place, t);
    if (!rows) return model.vectors;
    const [table, ids] = rows;
    if (!model.rows.has(table)) model.rows.set(table, new Map());
    const known = model.rows.get(table);
    if (ids.some((id) => !known.has(id))) {
      const all = place === "output" ? make.likeliestIds(found.trace).flat() : ids; // those of all steps at once
      const missing = [...new Set(all)].filter((id) => !known.has(id));
      load(`${table}/${missing}`, [[table, missing]], (tensors) => {
        const { data, shape } = tensors[table];
        missing.forEach((id, at) => known.set(id, data.subarray(at * shape[1], (at + 1) * shape[1])));
      });
      return null;
    }
    const data = Float32Array.from(ids.flatMap((id) => [...known.get(id)]));
    return { ...model.vectors, [table]: { data, shape: [ids.length, data.length / ids.length] } };
  };

  const loadWeights = (place, step) => {
    const facts = factsOf(server);
    const take = (tensors) => view.data.take(make.weightsPack(server.checkpoint, facts, tensors, place, step));
    load(`${place}/${step}`, make.weightNames(facts, place, step), take);
  };

  // Reads parameters of the model, once at a time, and draws what waits for them.
  const load = async (key, names, take) => {
    const { loading } = model;
    if (loading.has(key)) return;
    loading.add(key);
    try {
      take(await live.engine.parameters(names));
      if (found) view.show([]);
    } finally {
      loading.delete(key);
    }
  };

  // A pack has come from the server. Returns whether the engine draws what it is about.
  const order = (header) => {
    if (!header.state) return found !== null; // exact numbers of a place
    server = header;
    if (!possible()) leave();
    const drawn = found && !found.long;
    const isNew = header.state.revision !== view.revision;
    ordered = isNew && header.sort !== "trace" && !drawn ? header : null;
    const spoken = view.speak(header.texts);
    if (drawn && (isNew || spoken)) {
      view.adopt(header);
      view.show([]);
    }
    queueMicrotask(follow); // when the drawing has taken the pack over
    return found !== null || header.sort === "facts";
  };

  const switched = () => {
    follow();
    return Boolean(possible());
  };

  view.source = { order, moved, switched };
  const stop = live.onChange(follow);
  return () => {
    stop();
    view.source = null;
  };
}

// The entries of `all` whose names are not in `some`.
const without = (some, all) => Object.fromEntries(Object.entries(all).filter(([name]) => !(name in some)));

const factsOf = ({ config, boxes, forms }) => ({ config, boxes, forms });

function sameTokens(header, trace, switches) {
  const { source_ids, target_out_ids, source_labels, target_out_labels } = trace;
  const ours = [source_ids, target_out_ids, source_labels, target_out_labels, switches];
  const { ids, labels } = header;
  return (
    JSON.stringify(ours) ===
    JSON.stringify([ids.source, ids.target_out, labels.source, labels.target_out, header.switches])
  );
}

// What is kept of a model: all vectors, and rows of tables and pieces as they are asked for.
async function knownOf(engine, facts, before) {
  const { name } = engine.about;
  if (before?.name === name) return before;
  const vectors = await engine.parameters(make.vectorNames(facts));
  return { name, vectors, rows: new Map(), pieces: [], loading: new Set() };
}

// pieces: by their ids, with gaps.
async function addPieces(engine, { pieces }, trace) {
  const missing = [...new Set(make.likeliestIds(trace).flat())].filter((id) => pieces[id] === undefined);
  if (!missing.length) return;
  for (const [at, piece] of (await engine.pieces(missing)).entries()) pieces[missing[at]] = piece;
}

/** The passes over a sentence: `plain` without switches, `trace` with those that fit it, and `before` of the same tokens,
 * null where nothing is switched. `whole`: tokens of a translation that is drawn in part; `long`:
 * {source, target} where a side is too long to be drawn. found: the passes before these. */
async function passesOf(engine, wanted, found) {
  const { sentence, limit } = wanted;
  const ask = (more) => engine.trace({ ...sentence, limit, channel: CHANNEL, ...more });
  const known = found && sameText(found.wanted, wanted);
  let { plain, whole } = known ? found : { plain: await ask({}), whole: 0 };
  if (plain.own && plain.target_out_ids.length > LONGEST_DRAWN && plain.source_ids.length <= LONGEST_DRAWN) {
    whole = plain.target_out_ids.length;
    plain = await ask({ output: plain.target_out_ids.slice(0, LONGEST_DRAWN) });
  }
  const compared = tooLong(plain) ? unswitched(plain) : await compare(ask, plain, wanted.switches).catch(unfit(plain));
  const { before, after: trace } = compared;
  const long = tooLong(trace) ? lengthsOf(trace) : null; // perhaps with padding
  return { wanted, plain, whole, trace, before: before === trace ? null : before, long };
}

const lengthsOf = (trace) => ({ source: trace.source_ids.length, target: trace.target_in_ids.length });
const tooLong = (trace) => Math.max(...Object.values(lengthsOf(trace))) > LONGEST_DRAWN;
const unswitched = (plain) => ({ before: plain, after: plain, switches: {} });

// Switches that make a pass fail are left out, as positions that a model has not learned.
const unfit = (plain) => (error) => {
  if (isQuiet(error)) throw error;
  return unswitched(plain);
};

const sameText = (one, other) =>
  one.limit === other.limit && JSON.stringify(one.sentence) === JSON.stringify(other.sentence);
