// Scrolls to what a stop is about, as soon as that is drawn, if most of it is out of sight. A person who scrolls or presses
// something meanwhile is left where they are.
const LOOKS = 30; // 100 milliseconds apart: pages and figures get their height later
const GAP = 8; // pixels above it
let stopLast = new AbortController();

/** @param {() => Element | null | undefined} find @param {HTMLElement} panel which covers the lower part of a phone */
export function scrollTo(find, panel) {
  lookOften(LOOKS, (left) => {
    const target = find();
    if (target?.clientHeight)
      window.scrollBy(0, hiddenBy(target.getBoundingClientRect(), panel.getBoundingClientRect()));
    return left - 1;
  });
}

/** Calls look(left) every 100 milliseconds, as often as it returns, until a person does something, or the next call.
 * @param {number} left @param {(left: number) => number} look */
export function lookOften(left, look) {
  stopLast.abort();
  const stop = (stopLast = new AbortController());
  const options = { signal: stop.signal, capture: true, passive: true };
  for (const name of ["wheel", "touchmove", "pointerdown", "keydown"])
    window.addEventListener(name, () => stop.abort(), options);
  const turn = (left) => {
    if (stop.signal.aborted) return;
    const more = look(left);
    if (more >= 0) setTimeout(turn, 100, more);
    else stop.abort();
  };
  setTimeout(turn, 100, left);
}

/** How far to scroll to a box, 0 if most of it is seen. sheet: box of the panel; start: pixels covered above. */
export function hiddenBy({ top, height }, sheet, start = 0) {
  const end = sheet.width < window.innerWidth ? window.innerHeight : sheet.top;
  const seen = Math.min(top + height, end) - Math.max(top, start);
  const far = top < start - 2 * GAP || top > start + 0.4 * (end - start);
  return (height > end - start ? far : seen < 0.8 * height) ? top - start - GAP : 0;
}
