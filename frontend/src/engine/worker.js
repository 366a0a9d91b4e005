/* global ORT_WASM -- length and hash of ort.wasm.gz: build.js */
// The engine as a worker: it opens one model, then answers the requests of client.js.
import { download } from "./download.js";
import { makeModel } from "./model.js";
import { Requests } from "./requests.js";

const { port1: here, port2: there } = new MessageChannel();
// Ends when messages that arrived before it were handled; takes microseconds, a timer would take milliseconds.
const breathe = () =>
  new Promise((resolve) => {
    there.onmessage = resolve;
    here.postMessage(0);
  });

const send = (message, buffers = []) => postMessage(message, { transfer: buffers });

let requests = null;
self.onmessage = async ({ data }) => {
  if (requests) return requests.add(data);
  try {
    requests = new Requests(await open(data), send, breathe);
    send({ ready: true });
  } catch (error) {
    send({ failed: { name: error.name, message: String(error.message ?? error) } });
  }
};

// base: URL of the model's folder; about: its web.json; wasm: see client.js; blobs: name -> Blob of files that the page has
async function open({ base, about, wasm, blobs }) {
  const names = Object.keys(about.files);
  const source = (name) => {
    const file = about.files[name];
    if (blobs[name]) return { blob: blobs[name], packed: file.packed };
    return { url: new URL(file.packed ? `${name}.gz` : name, base).href, ...file };
  };
  const sources = names.map(source);
  const sentAsWasm = typeof wasm === "string" && wasm.endsWith(".wasm");
  if (!sentAsWasm)
    sources.push({ ...(wasm instanceof Blob ? { blob: wasm } : { url: wasm, ...ORT_WASM }), packed: true });
  const contents = await download(sources, (progress) => send({ progress }));
  const file = (name) => contents[names.indexOf(name)];
  return makeModel({ about, file, wasm: sentAsWasm ? wasm : contents.at(-1) });
}
