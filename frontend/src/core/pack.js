// One binary value holds a whole picture: "HSP1", the length of a JSON header, the header, the arrays.

const TYPES = { uint8: Uint8Array, float16: Uint16Array, float32: Float32Array };
let halves = null; // the 65,536 numbers of 16 bits, computed when the first are read

function asBytes(input) {
  if (input instanceof Uint8Array) return input;
  if (input instanceof ArrayBuffer) return new Uint8Array(input);
  if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
  return null;
}

export function readPack(input) {
  if (input?.header) return input; // made in the browser (PackWriter)
  const bytes = asBytes(input);
  if (!bytes || bytes.length < 8) throw new Error("no bytes arrived, a pack starts with HSP1");
  const mark = String.fromCharCode(bytes[0], bytes[1], bytes[2], bytes[3]);
  if (mark !== "HSP1") throw new Error("the bytes do not start with HSP1");
  const length = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(4, true);
  const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  if (header.format !== 1) throw new Error("format " + header.format + " is not known here, only 1");
  const start = Math.ceil((8 + length) / 8) * 8;
  return { header, array: (ref) => readBlob(bytes, start, ref) };
}

// A pack made in the browser: its arrays stay where they are, and a reference has the index of its array as offset.
export class PackWriter {
  arrays = [];

  add(data, shape) {
    const dtype = Object.keys(TYPES).find((name) => data instanceof TYPES[name]);
    return { dtype, shape, offset: this.arrays.push(data) - 1 };
  }

  finish(header) {
    return { header: { format: 1, ...header }, array: ({ offset }) => this.arrays[offset] };
  }
}

function readBlob(bytes, start, ref) {
  const Type = TYPES[ref.dtype];
  if (!Type) throw new Error("arrays of " + ref.dtype + " are not known here");
  const count = ref.shape.reduce((product, size) => product * size, 1);
  const from = start + ref.offset;
  const size = count * Type.BYTES_PER_ELEMENT;
  if (from + size > bytes.length) throw new Error("the pack is cut short");
  // The bytes may start at any address of a larger buffer: a copy is always aligned.
  const array = new Type(bytes.slice(from, from + size).buffer);
  return ref.dtype === "float16" ? fromHalves(/** @type {Uint16Array} */ (array)) : array;
}

// Numbers of 16 bits, given as their bits.
export function fromHalves(array) {
  halves ??= Float32Array.from({ length: 65536 }, (_, bits) => halfNumber(bits));
  const numbers = new Float32Array(array.length);
  for (let i = 0; i < array.length; i++) numbers[i] = halves[array[i]];
  return numbers;
}

// The number of 16 bits (IEEE 754 binary16): a sign, 5 bits of exponent, 10 of fraction.
function halfNumber(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return exponent ? sign * (1 + fraction / 1024) * 2 ** (exponent - 15) : sign * fraction * 2 ** -24;
}
