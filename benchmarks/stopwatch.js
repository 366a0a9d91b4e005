// Runs in the pages that are timed, before anything of theirs. A picture counts as drawn when it is in the document and
// a frame with it has been made: seen at one animation frame, timed at the next. The same for every page.
window.stopwatch = {
  drawn: "",
  first: null,
  patience: 120000,

  watch(done, report) {
    const look = () => {
      if (done()) requestAnimationFrame(() => report(performance.now()));
      else requestAnimationFrame(look);
    };
    requestAnimationFrame(look);
  },

  // Milliseconds from the first event of this type, as the browser stamped it, until another picture than now.
  start(type) {
    const before = this.drawn;
    this.result = new Promise((resolve, reject) => {
      setTimeout(() => reject(new Error(`not drawn within ${this.patience} ms`)), this.patience);
      const started = (event) => {
        if (event.type === "keydown" && event.key !== "Enter") return;
        window.removeEventListener(type, started, true);
        this.watch(
          () => this.drawn !== before,
          (now) => resolve(now - event.timeStamp),
        );
      };
      window.addEventListener(type, started, true);
    });
  },
};

window.addEventListener("headscope:drawn", (event) => (window.stopwatch.drawn = event.detail));
// BertViz: window.expectedHeads of them are there.
window.stopwatch.watch(
  () => window.stopwatch.drawn || document.querySelectorAll("svg rect.attn_background").length === window.expectedHeads,
  (now) => (window.stopwatch.first = now),
);
