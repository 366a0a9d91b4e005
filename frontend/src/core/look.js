import { el } from "./dom.js";

// Follows theme and size of an element: `retheme` is called when its colours may have changed (a 1 ms transition of the
// colours of `sentinel` tells, without polling), `resized` when its width or the window changed. Returns the sentinel,
// to be put into the element, and a function that stops it.
export function followLook(element, retheme, resized) {
  const sentinel = el("span", { class: "hs-sentinel", "aria-hidden": "true", transitionend: retheme });
  const schemes = window.matchMedia("(prefers-color-scheme: dark)");
  schemes.addEventListener("change", retheme);
  let width = null;
  const resizes = new ResizeObserver(() => {
    if (element.clientWidth !== width) resized();
    width = element.clientWidth;
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
