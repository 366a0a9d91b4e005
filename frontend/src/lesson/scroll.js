// Scrolls to what a stop is about, as soon as that is drawn, if most of it is out of sight. A person who scrolls or presses
// something meanwhile is left where they are.
const LOOKS = 30; // 100 milliseconds apart: pages and figures get their height later
const GAP = 8; // pixels above it
let stopLast = new AbortController();

/** @param {() => Element | null | undefined} find @param {HTMLElement} panel which covers the lower part of a phone */
export function scrollTo(find, panel) {
  stopLast.abort();
  const stop = (stopLast = new AbortController());
  const options = { signal: stop.signal, capture: true, passive: true };
  for (const name of ["wheel", "touchmove", "pointerdown", "keydown"])
    window.addEventListener(name, () => stop.abort(), options);
  const look = (left) => {
    if (stop.signal.aborted) return;
    const target = find();
    if (target?.clientHeight) show(target.getBoundingClientRect(), panel.getBoundingClientRect());
    if (left) setTimeout(look, 100, left - 1);
    else stop.abort();
  };
  setTimeout(look, 100, LOOKS);
}

function show({ top, height }, sheet) {
  const end = sheet.width < window.innerWidth ? window.innerHeight : sheet.top;
  const seen = Math.min(top + height, end) - Math.max(top, 0);
  const hidden = height > end ? top < -2 * GAP || top > 0.4 * end : seen < 0.8 * height;
  if (hidden) window.scrollBy(0, top - GAP);
}
