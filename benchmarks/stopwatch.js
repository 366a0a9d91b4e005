// Runs in the pages that are timed, before anything of theirs. A picture counts as drawn when it is in the document and
// a frame with it has been made: seen at one animation frame, timed at the next. The same for every page.
window.stopwatch = {
  drawn: "",
  unnamed: 0,
  root: null,
  first: null,
  patience: 120000,

  // Milliseconds from the first event of these types (as the browser stamped it) until `done()` and a frame.
  next(types, done) {
    return new Promise((resolve, reject) => {
      setTimeout(() => reject(new Error(`not drawn within ${this.patience} ms`)), this.patience);
      const started = (event) => {
        if (event.type === "keydown" && event.key !== "Enter") return;
        for (const type of types) window.removeEventListener(type, started, true);
        this.watch(done, (now) => resolve(now - event.timeStamp));
      };
      for (const type of types) window.addEventListener(type, started, true);
    });
  },

  watch(done, report) {
    const look = () => {
      if (done()) requestAnimationFrame(() => report(performance.now()));
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  },

  // Until another picture than the one now shown.
  redrawn(types) {
    const before = this.drawn;
    this.result = this.next(types, () => this.drawn !== before);
  },

  // Until the chosen cell's arithmetic is there, which needs the exact numbers.
  exact(types) {
    this.result = this.next(types, () => this.root.querySelector("[data-testid=cell-check]"));
  },

  // Until BertViz has drawn what its selection or a click asks for; it does so before the next frame.
  answered(types) {
    this.result = this.next(types, () => true);
  },

  heads() {
    return document.querySelectorAll("svg rect.attn_background").length;
  },
};

window.addEventListener("headscope:drawn", (event) => {
  window.stopwatch.root = event.composedPath()[0];
  // The anatomy's drawing has no name: every one is another picture.
  window.stopwatch.drawn = event.detail || `anatomy ${(window.stopwatch.unnamed += 1)}`;
});
window.stopwatch.watch(
  () => window.stopwatch.drawn || (window.expectedHeads && window.stopwatch.heads() === window.expectedHeads),
  (now) => (window.stopwatch.first = now),
);
