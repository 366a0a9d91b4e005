const GZIP = [0x1f, 0x8b]; // the first bytes of such a file

// The same for bytes that may be unpacked already: some servers call a gzip file an encoding.
export const unpacked = (bytes) => (GZIP.every((byte, i) => bytes[i] === byte) ? unpack(bytes) : bytes);

// The content of a gzip file.
export async function unpack(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
