import { leaves } from "./streamlit.js";

// The header's links and menus of pages, which Python draws as HTML (pages/frame/navigation.py). A plain click on a link
// asks Python for the page, so that the session goes on; any other click is the browser's, as for a new tab. The browser
// opens and closes a menu by its button; Escape, a click elsewhere and the way to a page close it, too.
const LINK = "a[data-page]";
const OPEN_MENUS = ".hs-pages details[open]";

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
    const link = target.closest(LINK);
    closeMenus(link ? null : target);
    const plain = event.button === 0 && !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey);
    if (!(link instanceof HTMLAnchorElement) || !plain) return;
    event.preventDefault();
    if (link.ariaCurrent === "page") return;
    leaves();
    watch.ask(link.dataset.page ?? "");
  });
  document.addEventListener("keydown", ({ key }) => key === "Escape" && closeMenus(null));
  return watch;
}

// All but the one that `inside` is in. The focus of one that closes goes to its button.
function closeMenus(inside) {
  for (const menu of document.querySelectorAll(OPEN_MENUS)) {
    if (!(menu instanceof HTMLDetailsElement) || menu.contains(inside)) continue;
    if (menu.contains(document.activeElement)) menu.querySelector("summary")?.focus();
    menu.open = false;
  }
}
