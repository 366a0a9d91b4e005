// Decides which frame of a run is shown when. Frames arrive in groups; they are played evenly over the time until the
// next group is likely to come, so that the heads move many times a second. No frames are interpolated.

const FIRST_SPAN = 400; // milliseconds between answers, before any two have come
const SPANS = [120, 1500];
const PLAY = 80; // milliseconds per frame, at least, when the training is played from its start
const WHOLE = 8000; // milliseconds for all frames, at least
const CALM = { live: 1000, play: 500 }; // milliseconds per frame for users who want less motion

export class Player {
  // calm: whether motion is to be reduced
  constructor(calm) {
    this.calm = calm;
    this.span = FIRST_SPAN;
    this.reset();
  }

  // Another run: shows its last frame, and the frames that follow.
  reset(last = 0) {
    this.mode = "live";
    this.from = this.until = last;
    this.began = 0;
    this.arrival = null;
  }

  // Frames up to `last` are here. Called even if nobody watches: `until` is the live position.
  arrived(last, now) {
    if (last <= this.until) return;
    if (this.arrival !== null) {
      const [low, high] = SPANS;
      const span = Math.min(high, Math.max(low, now - this.arrival));
      this.span += (span - this.span) * 0.3;
    }
    this.from = this.mode === "live" ? this.live(now) : last;
    this.until = last;
    this.began = now;
    this.arrival = now;
  }

  live(now) {
    if (this.calm()) return now - (this.shownAt || 0) >= CALM.live ? this.until : this.from;
    const share = Math.min(1, Math.max(0, (now - this.began) / this.span));
    return Math.min(this.until, Math.floor(this.from + (this.until - this.from) * share + 1e-9));
  }

  // frames: how many the run has
  play(now, index, frames = WHOLE) {
    this.each = Math.max(PLAY, WHOLE / frames);
    this.mode = "play";
    this.start = index;
    this.began = now;
  }

  hold() {
    this.mode = "held";
  }

  goLive(now) {
    this.mode = "live";
    this.from = this.until;
    this.began = now;
  }

  // The frame to show next, after `frame`; a replay that reaches the live position goes on live.
  at(now, frame) {
    if (this.mode === "held") return Math.min(frame, this.until);
    if (this.mode === "live") {
      const index = this.live(now);
      if (index !== frame) this.shownAt = now;
      if (index !== this.from && this.calm()) this.from = index;
      return index;
    }
    // The browser's frame time may be earlier than the click that started it.
    const passed = Math.max(0, now - this.began);
    const index = this.start + Math.floor(passed / (this.calm() ? CALM.play : this.each));
    if (index < this.until) return index;
    this.goLive(now);
    return this.until;
  }

  // Whether another frame follows without any event.
  moving(frame) {
    return this.mode === "play" || (this.mode === "live" && frame < this.until);
  }
}
