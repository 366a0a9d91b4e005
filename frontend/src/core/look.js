import { el, documentTop } from "./dom.js";

// Follows theme and size of an element: `retheme` is called when its colours may have changed (a 1 ms transition of the
// colours of `sentinel` tells, without polling), `resized` when its width or the window changed and, if the element
// `fitsWindow` with its height, when the content above it on the page has moved it. Returns the sentinel, to be put into
// the element, and a function that stops it.
export function followLook(element, retheme, resized, { fitsWindow = false } = {}) {
  const sentinel = el("span", { class: "hs-sentinel", "aria-hidden": "true", transitionend: retheme });
  const schemes = window.matchMedia("(prefers-color-scheme: dark)");
  schemes.addEventListener("change", retheme);
  let width = null;
  let top = null;
  const resizes = new ResizeObserver(() => {
    const host = element.getRootNode().host || element;
    const topNow = fitsWindow ? documentTop(host) : 0;
    if (element.clientWidth !== width || topNow !== top) resized();
    if (fitsWindow && top === null) {
      // in a column, the block around it does not grow with what comes above the column
      for (const around of ["stVerticalBlock", "stMainBlockContainer"]) {
        const block = host.closest(`[data-testid=${around}]`);
        if (block) resizes.observe(block);
      }
    }
    width = element.clientWidth;
    top = topNow;
  });
  resizes.observe(element);
  window.addEventListener("resize", resized);
  const stop = () => {
    resizes.disconnect();
    schemes.removeEventListener("change", retheme);
    window.removeEventListener("resize", resized);
  };
  return { sentinel, stop };
}
