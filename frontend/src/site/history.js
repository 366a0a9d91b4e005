// The address bar. As in host/streamlit.js, a change of the same page that follows within a moment replaces the last
// entry of the browser's history.
const MOMENT = 1500; // milliseconds
const PAUSE = 250; // after the last change, until the address is written: browsers allow some hundred writes a minute

export class AddressBar {
  /** @param {() => void} moved called when the reader has gone back or forward */
  constructor(moved) {
    this.last = -Infinity;
    window.addEventListener("popstate", () => {
      clearTimeout(this.timer);
      this.waiting = null;
      moved();
    });
    window.addEventListener("pagehide", () => this.flush());
  }

  /** @param {string} address */
  write(address) {
    this.waiting = address;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.flush(), PAUSE);
  }

  flush() {
    clearTimeout(this.timer);
    const address = this.waiting;
    this.waiting = null;
    if (!address || address === location.href) return;
    const same = new URL(address).pathname === location.pathname && performance.now() - this.last < MOMENT;
    try {
      history[same ? "replaceState" : "pushState"](null, "", address);
      this.last = performance.now();
    } catch {
      // a page that is a file has no history in some browsers
    }
  }
}
