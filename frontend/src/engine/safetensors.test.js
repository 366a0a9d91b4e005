import assert from "node:assert/strict";
import { test } from "node:test";
import { openWeights } from "./safetensors.js";

// A file of two tensors: three numbers of 16 bits, so that the second tensor starts at no multiple of 4, and [2, 2] of 32.
function file() {
  const header = JSON.stringify({
    __metadata__: { made: "by hand" },
    bias: { dtype: "F16", shape: [3], data_offsets: [0, 6] },
    matrix: { dtype: "F32", shape: [2, 2], data_offsets: [6, 22] },
  });
  const bytes = new Uint8Array(8 + header.length + 22);
  const view = new DataView(bytes.buffer);
  view.setBigUint64(0, BigInt(header.length), true);
  bytes.set(new TextEncoder().encode(header), 8);
  const start = 8 + header.length;
  [0x3c00, 0xc100, 0x0001].forEach((bits, i) => view.setUint16(start + 2 * i, bits, true));
  [1, 2, 3, -4.5].forEach((value, i) => view.setFloat32(start + 6 + 4 * i, value, true));
  return bytes;
}

test("tensors of 16 and of 32 bits are read by name", async () => {
  const bytes = file();
  const weights = await openWeights((start, end) => bytes.subarray(start, end));
  const { bias, matrix } = await weights.tensors(["bias", "matrix"]);
  assert.deepEqual([...bias.data], [1, -2.5, 2 ** -24]);
  assert.deepEqual(bias.shape, [3]);
  assert.deepEqual([...matrix.data], [1, 2, 3, -4.5]);
  assert.deepEqual(matrix.shape, [2, 2]);
});

test("rows of a matrix come in the order that is asked for, also from a file read piece by piece", async () => {
  const blob = new Blob([file()]);
  const weights = await openWeights(async (start, end) => new Uint8Array(await blob.slice(start, end).arrayBuffer()));
  const { matrix } = await weights.tensors([["matrix", [1, 0, 1]]]);
  assert.deepEqual([...matrix.data], [3, -4.5, 1, 2, 3, -4.5]);
  assert.deepEqual(matrix.shape, [3, 2]);
});
