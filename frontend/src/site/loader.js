// Loads the engine, and the model that the frame wants.
import { Engine } from "../engine/client.js";
import { CACHE } from "../engine/download.js";
import { firstPicture } from "../live/live.js";
import { fileAddress, fileOrBlob, isSingleFile } from "./files.js";

const AFTER_PICTURE = 20; // milliseconds from the first picture to the download
const WITHOUT_PICTURE = 1500; // the same if there is none

/** @type {Promise<void> | null} */ let drawn = null; // ends when the first picture has what it needs

const inMegabytes = (bytes) => Math.round(bytes / 1e6);

export class ModelLoader {
  // frame: see frame.js.
  constructor(frame) {
    this.frame = frame;
    this.engine = null;
    this.wanted = null; // web.json of the model
  }

  // about: web.json of a model
  async open(about) {
    if (about === this.wanted) return;
    this.wanted = about;
    this.frame.live.set({ engine: null });
    if (!(await hasModels())) await (drawn ??= firstPicture(AFTER_PICTURE, WITHOUT_PICTURE));
    if (about === this.wanted) await this.load(about);
  }

  // asked: the reader wants it, whatever the connection costs
  async load(about, asked = false) {
    const { frame } = this;
    const say = (kind, name, values = {}, press = undefined) => {
      if (about === this.wanted)
        frame.messages.say("model", name ? [{ kind, text: frame.t(name, values), press }] : []);
    };
    const total = inMegabytes(Object.values(about.files).reduce((sum, { bytes }) => sum + bytes, 0));
    if (!asked && !Engine.wanted())
      // a slow connection is no reason: there is no server to ask
      return say("note", "metered", { total }, [frame.t("load"), () => this.load(about, true)]);
    const failed = ({ reason, message }) => {
      const again = reason === "download" ? [frame.t("again"), () => this.load(about, true)] : undefined;
      frame.live.set({ engine: null });
      say("error", `no_${reason}`, { reason: message }, again);
    };
    const progress = ({ loaded, total }) =>
      say("quiet", loaded < total ? "loading" : "starting", { loaded: inMegabytes(loaded), total: inMegabytes(total) });
    try {
      this.engine ??= await makeEngine(failed);
      const place = `models/${about.name}/`;
      const blobs = isSingleFile() ? await heldFiles(place, about.files) : {};
      const base = fileAddress(place.split("/").map(encodeURIComponent).join("/"));
      await this.engine.open({ base, about, progress, blobs });
    } catch (error) {
      return error.name === "Dropped" ? undefined : failed(error); // Dropped: another model is opened
    }
    if (about !== this.wanted) return undefined;
    say("quiet", "");
    return frame.live.set({ engine: this.engine });
  }
}

async function makeEngine(failed) {
  const [script, wasm] = await Promise.all(["engine.js", "ort.wasm.gz"].map(fileOrBlob));
  return new Engine({ script: script instanceof Blob ? URL.createObjectURL(script) : script, wasm, failed });
}

// The files of a model that stand in the page.
async function heldFiles(place, files) {
  const names = Object.keys(files);
  const blobs = await Promise.all(names.map((name) => fileOrBlob(place + name + (files[name].packed ? ".gz" : ""))));
  return Object.fromEntries(names.map((name, at) => [name, blobs[at]]));
}

// Whether the browser has some model: then opening it takes none of the network from the first picture.
async function hasModels() {
  return Boolean(await globalThis.caches?.has(CACHE).catch(() => false));
}
