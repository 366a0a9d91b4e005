import assert from "node:assert/strict";
import { test } from "node:test";
import { refusedSwitches } from "./check.js";

// tests/web/test_lab_packs.py asks Python about the same and more.

const CONFIG = { encoder_layers: 3, decoder_layers: 2, heads: 4, d_ff: 8 };

test("switches that a model can have are not refused", () => {
  const sound = {
    ...{ scaling: "off,0.5@cross.2,1e-3@all.3.4", causal: "off@decoder_self.2", padding: "off", pad: "64" },
    ...{ hide: "source.3,target.2@decoder_self", zero: "encoder_self.3.4,all.*.1", weights: "uniform@cross.*.3" },
    ...{ mean: "cross", resample: "7@cross.2.1,text.ka+lo|re", positions: "remove@source,shift.5,scale.0.5" },
    ...{ skip: "encoder.3.ff,decoder.2.cross", neurons: "decoder.1.8" },
  };
  assert.deepEqual(refusedSwitches(sound, CONFIG), []);
});

test("others are refused by name", () => {
  const wrong = {
    scaling: ["0", "-1", "1e30", "nan", "", "off@nowhere", "off@cross.3", "off@cross.1.5"],
    causal: ["on", "off@cross"],
    pad: ["0", "65", "two", "3@cross"],
    hide: ["source", "source.0", "target.1@cross", "source.1@decoder_self"],
    zero: ["", "cross.1.5", "cross.1.2.3", "decoder_self.3"],
    weights: ["softmax", "argmax@cross.0"],
    resample: ["word", "10000", "text."],
    positions: ["shift", "scale.x", "remove.3", "shuffle@middle"],
    skip: ["encoder.1.cross", "decoder.3.ff", "encoder.1.5"],
    neurons: ["decoder.1.9", "decoder.1.ff"],
    paint: ["2:1_4@cross.2.1"],
  };
  for (const [name, texts] of Object.entries(wrong))
    for (const text of texts) assert.deepEqual(refusedSwitches({ [name]: text }, CONFIG), [name], `${name}=${text}`);
});
