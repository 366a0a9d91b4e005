// Runs behind stopwatch.js in the pages of the anatomy: films one movement of the drawing, in a loop of its own.
window.film = {
  patience: 20000,
  calm: 4, // frames of rest after which nothing follows any more

  get drawing() {
    return window.stopwatch.root.anatomy;
  },

  moving() {
    return this.drawing.stage.element.hasAttribute("data-moving");
  },

  rests() {
    return !this.moving() && !this.drawing.data.waiting;
  },

  // From the next click or key, as the browser stamped it, until the drawing rests with all its numbers, milliseconds:
  // first: until a frame of the movement was made; settled: until the last; frames: [when, whether it moved] of every
  // frame that the page was given, by the browser's own clock for them; painted: how many the drawing made of them.
  take() {
    this.result = new Promise((resolve, reject) => {
      const found = { first: 0, settled: 0, frames: [], painted: 0 };
      let [began, seen, rest] = [0, false, 0];
      const started = (event) => {
        for (const type of ["click", "keydown"]) window.removeEventListener(type, started, true);
        began = event.timeStamp;
        this.drawing.stage.frames = [];
      };
      for (const type of ["click", "keydown"]) window.addEventListener(type, started, true);
      const late = setTimeout(() => reject(new Error(`did not move and rest within ${this.patience} ms`)), this.patience);
      const look = (now) => {
        const moving = began > 0 && this.moving();
        found.frames.push([now, moving]);
        if (seen && !found.first) found.first = performance.now() - began;
        seen ||= moving;
        rest = seen && !moving && this.rests() ? rest + 1 : 0;
        if (rest === 1) found.settled = performance.now() - began;
        if (rest < this.calm) return requestAnimationFrame(look);
        clearTimeout(late);
        found.painted = this.drawing.stage.frames.length;
        this.drawing.stage.frames = null;
        return resolve(found);
      };
      requestAnimationFrame(look);
    });
  },
};
