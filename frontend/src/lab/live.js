// The Lab while one types and presses switches: both passes are computed in the page.
import { readPack } from "../core/pack.js";
import { markFresh } from "../live/live.js";
import { comparisonOf } from "./comparison.js";
import { labPacks, saysPack } from "./from_trace.js";

// `order` takes what the page says beside the numbers, as the header of a pack of the server does; `take` a pack itself.
// Those that come while the engine draws are only kept.
/** @param {import("./lab.js").Lab} lab @param {import("../live/live.js").Live} live */
export function liveLab(lab, live) {
  const comparison = comparisonOf(live);
  const kept = new Map(); // the server's last packs, by their feeds
  let about = null; // what the page says
  let passes = null; // of the engine, while they are drawn
  let written = null;
  let handed = false; // whether the server's packs are drawn

  const show = (anew = false) => {
    if (!comparison.passes) leave();
    if (!comparison.passes || !about) return;
    if (anew || comparison.passes !== passes) {
      const same = !anew && passes?.before === comparison.passes.before; // that picture stays
      if (comparison.passes !== passes) markFresh(lab.element);
      ({ passes } = comparison);
      const packs = labPacks(passes, live.engine.about.config, about);
      if (!same) lab.take(packs.before, "before");
      lab.take(packs.after, "after");
      lab.drawNow();
    }
    if (comparison.written && (anew || comparison.written !== written)) {
      ({ written } = comparison);
      lab.take(saysPack(passes.after, written), "after");
    }
  };

  // The server draws again.
  const leave = () => {
    if (passes) handed = false;
    passes = written = null;
    lab.element.style.removeProperty("--hs-stale");
  };

  const order = (header) => {
    const { checkpoint, texts, tries, cards, pictures, pane, opened, row, offered } = header;
    lab.order(header);
    about = { texts, tries, cards, pictures, pane, opened, row, offered };
    // Without the cards, the page has switches of its own.
    const ahead = () => (tries ? lab.nextParams() : []);
    comparison.set(cards ? lab.params() : null, { model: checkpoint, writes: pictures, ahead });
    show(true);
  };

  const take = (bytes, feed) => {
    const pack = readPack(bytes);
    kept.set(feed, pack);
    if (pack.header.state && sideOf(feed) === "before") order(pack.header);
    if (passes) return;
    for (const [from, each] of handed ? [[feed, pack]] : kept) lab.take(each, sideOf(from));
    handed = true;
  };

  lab.onSwitches = () => {
    if (comparison.switches) comparison.set(lab.params());
    return comparison.possible;
  };
  return { order, take, stop: comparison.onChange(show) };
}

const sideOf = (feed) => (feed.endsWith("before") ? "before" : "after");
