import { holdWhileLeaving, noteArrival, noteMove } from "./leaving.js";

// What all components share: staying mounted over reruns, and explanations one hover away.

const everMounted = new WeakMap();

// Streamlit calls a component again on every rerun, and may clean up and call again at once: what `make` made for the
// parent element is kept and handed out again, and only what stays away is taken down, by its destroy(). make(parent,
// component): both what it is made in and, for what speaks while it is being made, the component; later ones come as its
// `component`.
export function keepMounted(component, make) {
  shortenHistory();
  const { parentElement } = component;
  let mounted = everMounted.get(parentElement);
  if (!mounted) {
    noteArrival();
    mounted = { sender: {} };
    mounted.kept = make(parentElement, holdWhileLeaving(component, mounted.sender));
    everMounted.set(parentElement, mounted);
  }
  mounted.kept.component = holdWhileLeaving(component, mounted.sender);
  clearTimeout(mounted.leaving);
  const leave = () => {
    mounted.leaving = setTimeout(() => {
      mounted.sender.gone = true;
      mounted.kept.destroy();
      everMounted.delete(parentElement);
    }, 100);
  };
  return { kept: mounted.kept, leave };
}

// Streamlit adds an entry to the browser's history whenever a page writes its address, here with every click: the back
// button then walks through addresses that the page overwrites at once, and seems dead. An address of the same page
// takes the place of the one before; another page is an entry of its own, as ever.
function shortenHistory() {
  if (window.__headscopeHistory) return;
  window.__headscopeHistory = true;
  const push = window.history.pushState.bind(window.history);
  window.history.pushState = (state, title, address) => {
    const same = address && new URL(address, document.baseURI).pathname === window.location.pathname;
    if (same) window.history.replaceState(state, title, address);
    else push(state, title, address);
    noteMove();
  };
}

// Shows lines beside the pointer, or below the element when it is reached by keyboard. tooltip: of makeTooltip.
export function hint(element, tooltip, lines) {
  const show = (event) => tooltip.show(lines(), event.clientX, event.clientY);
  element.addEventListener("pointerenter", show);
  element.addEventListener("pointermove", show);
  element.addEventListener("pointerleave", () => tooltip.hide());
  element.addEventListener("blur", () => tooltip.hide());
  element.addEventListener("focus", () => {
    const place = element.getBoundingClientRect();
    if (element.matches(":focus-visible")) tooltip.show(lines(), place.left, place.bottom);
  });
  return element;
}
