// Tensors of a safetensors file by name, with 16 or 32 bits a number. Format: transformer/checkpoints/weights.py.
import { fromHalves } from "../core/pack.js";

const READERS = { F16: (buffer) => fromHalves(new Uint16Array(buffer)), F32: (buffer) => new Float32Array(buffer) };
const BYTES = { F16: 2, F32: 4 };

// read(start, end): these bytes of the file, or a promise of them.
export async function openWeights(read) {
  const number = async (start, end) => new DataView(copied(await read(start, end)));
  const length = Number((await number(0, 8)).getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(await read(8, 8 + length)));
  delete header.__metadata__;
  return new Weights(read, header, 8 + length);
}

class Weights {
  // header: name -> {dtype, shape, data_offsets}, which count from `start`
  constructor(read, header, start) {
    this.read = read;
    this.header = header;
    this.start = start;
  }

  // asked: names of tensors, or [name, rows] for some rows of a matrix. Returns {name: {data, shape}}.
  async tensors(asked) {
    const found = {};
    for (const one of asked) {
      const [name, rows] = typeof one === "string" ? [one] : one;
      found[name] = await this.tensor(name, rows);
    }
    return found;
  }

  async tensor(name, rows = undefined) {
    const { dtype, shape, data_offsets } = this.header[name];
    const from = this.start + data_offsets[0];
    if (!rows) return { data: READERS[dtype](copied(await this.read(from, this.start + data_offsets[1]))), shape };
    const width = shape[1];
    const size = width * BYTES[dtype];
    const data = new Float32Array(rows.length * width);
    for (const [at, row] of rows.entries()) {
      const bytes = copied(await this.read(from + row * size, from + (row + 1) * size));
      data.set(READERS[dtype](bytes), at * width);
    }
    return { data, shape: [rows.length, width] };
  }
}

// Numbers of 32 bits must start at a multiple of 4, and the file has them anywhere.
const copied = (bytes) => new Uint8Array(bytes).buffer;
