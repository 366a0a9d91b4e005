import assert from "node:assert/strict";
import { test } from "node:test";
import { Player } from "./player.js";

test("frames that arrive together are played at an even pace, and the next group follows", () => {
  // 20 frames in a handful that took 400 ms: one every 20 ms, none left out.
  const player = new Player(() => false);
  let shown = 0;
  const play = (from, to) => {
    const shownFrames = [];
    for (let now = from; now <= to; now += 5) shownFrames.push((shown = player.at(now, shown)));
    return shownFrames;
  };
  player.arrived(20, 1000);
  const first = play(1000, 1400);
  assert.equal(player.moving(shown), false);
  player.arrived(40, 1400);
  const second = play(1400, 2000);
  assert.deepEqual(
    [...new Set(first)],
    Array.from({ length: 21 }, (_, i) => i),
  );
  assert.deepEqual(
    [...new Set(second)],
    Array.from({ length: 21 }, (_, i) => i + 20),
  );
  const counts = Array.from({ length: 20 }, (_, i) => first.filter((frame) => frame === i).length);
  assert.ok(Math.max(...counts) - Math.min(...counts) <= 1);
});

test("a viewer who prefers reduced motion sees the newest frame once a second", () => {
  const player = new Player(() => true);
  const shownFrames = [];
  let shown = 0;
  for (let now = 5000; now < 9000; now += 50) {
    player.arrived((now - 5000) / 50, now);
    const next = player.at(now, shown);
    if (next !== shown) shownFrames.push(now);
    shown = next;
  }
  assert.ok(shownFrames.length >= 3 && shownFrames.length <= 5);
  shownFrames.slice(1).forEach((now, i) => assert.ok(now - shownFrames[i] >= 1000));
});

test("hold stays at a frame, live shows the newest frame, and play starts at the chosen frame", () => {
  const player = new Player(() => false);
  player.arrived(10, 0);
  player.hold();
  player.arrived(30, 100);
  assert.equal(player.at(5000, 4), 4);
  player.goLive(6000);
  assert.equal(player.at(6000, 4), 30);
  player.play(7000, 0);
  const played = [6990, 7000, 7080, 7800, 60000].map((now) => player.at(now, 0));
  assert.deepEqual([...played, player.mode], [0, 0, 1, 10, 30, "live"]);
});
