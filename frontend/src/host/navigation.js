import { leaves } from "./streamlit.js";

// The header's links and menus of pages, which Python draws as HTML (pages/frame/navigation.py). A plain click on a link
// asks Python for the page, so that the session goes on; any other click is the browser's, as for a new tab. A menu is
// the browser's popover: it closes by Escape and by a click elsewhere.
const LINK = "a[data-page]";
const MENU = "button[data-menu]";
const EDGE = 8; // pixels left free beside a menu

// ask(path): called with every link that is pressed. Called with every run; listens once a page.
export function watchLinks(ask) {
  const watch = (window.__headscopeLinks ??= start());
  watch.ask = ask;
}

function start() {
  const watch = { ask: (_path) => {} };
  document.addEventListener("click", (event) => {
    const { target } = event;
    if (!(target instanceof Element)) return;
    const menu = target.closest(MENU);
    if (menu instanceof HTMLButtonElement) return prepare(menu);
    const link = target.closest(LINK);
    const plain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    if (!(link instanceof HTMLAnchorElement) || !plain) return;
    event.preventDefault();
    const menuOf = link.closest("[popover]");
    if (menuOf instanceof HTMLElement) menuOf.hidePopover();
    if (link.ariaCurrent === "page") return;
    leaves();
    watch.ask(link.dataset.page ?? "");
  });
  return watch;
}

// Before the browser acts on the first click. (Streamlit's HTML keeps no attribute "popover".)
function prepare(button) {
  const menu = document.getElementById(button.dataset.menu ?? "");
  if (!menu || menu.popover) return;
  menu.popover = "auto";
  button.popoverTargetElement = menu;
  menu.addEventListener("toggle", (event) => {
    const open = event instanceof ToggleEvent && event.newState === "open";
    button.ariaExpanded = String(open);
    if (!open) return;
    const place = button.getBoundingClientRect();
    menu.style.top = `${place.bottom + 4}px`;
    menu.style.maxHeight = `${window.innerHeight - place.bottom - EDGE}px`;
    menu.style.left = `${Math.max(EDGE, Math.min(place.left, window.innerWidth - menu.offsetWidth - EDGE))}px`;
  });
}
