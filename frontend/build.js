// Bundles one script and one style sheet for every entry into transformer/view/dist/, which ships with the Python
// package, and the engine. `node build.js --check` writes nothing and fails where dist/ differs from the sources.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { build } from "esbuild";
import pako from "pako";

const FOLDER = import.meta.dirname;
const SOURCES = join(FOLDER, "src");
const DIST = join(FOLDER, "..", "transformer", "view", "dist");

// One look in the app and on a site.
const QUESTION = "../../pages/frame/question.css";
const WORDS = "../../pages/frame/words.css";
const SIDEWAYS = "../../pages/frame/sideways.css";

// entry -> [script, ...style sheets]; every entry with styles begins with the theme.
const ENTRIES = {
  anatomy: ["anatomy/component.js", "lab/lab.css", "anatomy/anatomy.css", "anatomy/panel/panel.css"],
  beam: ["decoding/beam.js", "decoding/decoding.css"],
  decoding: ["decoding/component.js", "decoding/decoding.css"],
  explorer: ["explorer/component.js", "explorer/explorer.css"],
  feed: ["host/feed.js"],
  feedforward: ["feedforward/component.js", "feedforward/feedforward.css"],
  figure: ["figure/component.js", "figure/figure.css"],
  formation: ["formation/component.js", "formation/formation.css"],
  headgrid: ["headgrid/component.js", "headgrid/headgrid.css"],
  lab: ["lab/component.js", "explorer/explorer.css", "lab/lab.css", WORDS, "effect/effect.css"],
  live: ["live/component.js"],
  lesson_scroll: ["host/lesson_scroll.js"],
  links: ["links/component.js", "links/links.css"],
  measures: ["measures/component.js", "heads/table.css", "measures/measures.css"],
  page: ["explorer/page.js", "explorer/explorer.css"],
  paint: ["decoding/paint.js", "decoding/decoding.css"],
  paper: ["paper/component.js", "paper/paper.css"],
  positions: ["positions/component.js", "figure/figure.css", "positions/positions.css"],
  saving: ["saving/component.js", "saving/saving.css"],
  site: ["site/main.js", "site/site.css", QUESTION, "lesson/lesson.css"],
  softmax: ["softmax/component.js", "softmax/softmax.css"],
  training: ["training/component.js", "training/training.css"],
  training_file: ["training/file.js", "training/training.css"],
  viewer: ["host/viewer.js"],
  why: ["why/component.js", "heads/table.css", "why/why.css"],
};

const RUNTIME = "ort.wasm.gz"; // what engine.js runs
const PLOTLY = "plotly.js-cartesian-dist-min/plotly-cartesian.min.js"; // bars, lines and heatmaps: a third of the plotly that Streamlit brings

// The line break after the banner matters: Streamlit takes a script of a single line for the name of a file.
const BANNER = "/* Built from frontend/src by esbuild (make frontend). Read and change the sources. */";
const OPTIONS = {
  bundle: true,
  minify: true,
  format: "esm",
  target: "esnext",
  charset: "utf8",
  legalComments: "none",
  banner: { js: BANNER, css: BANNER },
  write: false,
  metafile: true,
};

async function bundle(options) {
  const { outputFiles, metafile } = await build({ ...OPTIONS, ...options });
  const files = Object.fromEntries(outputFiles.map(({ path, contents }) => [basename(path), contents]));
  return { contents: outputFiles[0].contents, files, inputs: Object.keys(metafile.inputs) };
}

function bundleStyles(sheets) {
  const contents = ["core/theme.css", SIDEWAYS, ...sheets].map((sheet) => `@import "./${sheet}";`).join("\n");
  return bundle({ stdin: { contents, loader: "css", resolveDir: SOURCES } });
}

// Every text of a script, for translators and for Python, which hands over those of the reader's language.
async function textsOf(inputs) {
  const found = new Set();
  for (const path of inputs.filter((path) => path.endsWith("/texts.js") && !path.endsWith("core/texts.js"))) {
    for (const texts of Object.values(await import(join(FOLDER, path))))
      for (const text of Object.values(texts)) found.add(text);
  }
  return [...found].sort();
}

// What the built files depend on, so that a test can tell without Node whether they are up to date: SHA-256 over the
// paths and contents of the sources, this file and the versions of packages.
function hashOfSources() {
  const sources = readdirSync(SOURCES, { recursive: true })
    .map((path) => `src/${path.replaceAll("\\", "/")}`)
    .filter((path) => /\.(js|css)$/.test(path) && !path.endsWith(".test.js"));
  const hash = createHash("sha256");
  for (const path of [
    ...sources,
    "build.js",
    "package-lock.json",
    ...[QUESTION, WORDS, SIDEWAYS].map((path) => join("src", path)),
  ].sort()) {
    hash
      .update(`${path}\0`)
      .update(readFileSync(join(FOLDER, path)))
      .update("\0");
  }
  return `${hash.digest("hex")}\n`;
}

const hashOf = (bytes) => createHash("sha256").update(bytes).digest("hex").slice(0, 16);

// WebAssembly is packed here, because many hosts of static files pack nothing: 3.7 MB instead of 14.2. By pako, since
// Node's own zlib gives other bytes on other processors.
const packed = (bytes) => Buffer.from(pako.gzip(bytes, { level: 9 }));

function packedRuntime() {
  return packed(readFileSync(join(FOLDER, "node_modules/onnxruntime-web/dist/ort-wasm-simd-threaded.wasm")));
}

// The package of SentencePiece is made for Node. In a browser it gets from node_in_browser.js what it lacks there; its
// WebAssembly is packed; and it makes no functions of texts, which a Content-Security-Policy may forbid.
const NODE = join(SOURCES, "engine/node_in_browser.js");
const sentencePiece = {
  name: "sentencepiece",
  setup({ onLoad }) {
    onLoad({ filter: /sentencepiece-js.dist.index\.js$/ }, ({ path }) => {
      let contents = readFileSync(path, "utf8");
      const replace = (found, by) => {
        if (!found.test(contents)) throw new Error(`${path} no longer has ${found}`);
        contents = contents.replace(found, by);
      };
      replace(/new \(require\('u' \+ 'rl'\)\.URL\)\('file:' \+ __filename\)\.href/g, () => "''");
      replace(
        /newFunc\(Function,args1\)\.apply\(null,args2\)/,
        () => "fs__namespace.invoker(argTypes,isClassMethodFunc,returns,cppInvokerFunc,cppTargetFunc,runDestructors)",
      );
      let wasm;
      replace(/(?<="data:application\/octet-stream;base64,)[\w+/=]+/, (found) => ((wasm = found), ""));
      const text = packed(Buffer.from(wasm, "base64")).toString("base64");
      replace(/(?<=function getBinaryPromise\(binaryFile\)\{)/, () => `return fs__namespace.unpackText("${text}");`);
      return { contents };
    });
  },
};

// Plotly measures each of its texts in an element of the body. In Streamlit's page, with its many rules of `:has()`, each
// makes the browser look at the style of the whole page again, for 10 to 50 ms; in a shadow root, 0.1.
function packedPlotly() {
  const text = readFileSync(join(FOLDER, "node_modules", PLOTLY), "utf8");
  const found = /(?<=\.select\()"body"(?=\),"svg","js-plotly-tester")/;
  if (!found.test(text)) throw new Error(`${PLOTLY} no longer has ${found}`);
  const shadow = `globalThis.plotlyTester??=document.body.appendChild(document.createElement("div"))
    .attachShadow({mode:"open"}).appendChild(document.createElement("div"))`;
  return packed(Buffer.from(text.replace(found, () => shadow)));
}

function bundleEngine(runtime) {
  return bundle({
    entryPoints: [join(SOURCES, "engine/worker.js")],
    absWorkingDir: FOLDER,
    alias: { fs: NODE, module: NODE },
    plugins: [sentencePiece],
    format: "iife", // Chromium starts no module from a page that is a file
    define: {
      ORT_WASM: JSON.stringify({ bytes: runtime.length, hash: hashOf(runtime) }),
      "import.meta.url": "self.location.href",
    },
  });
}

// The licences of the packages in the built scripts, for who passes these on. inputs: paths of what was bundled.
// onnxruntime-web has no such file; its scripts say: Copyright (c) Microsoft Corporation, MIT, the text of our own licence.
function licencesOf(inputs) {
  const names = new Set(inputs.flatMap((path) => /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1] ?? []));
  const texts = [...names].sort().map((name) => {
    const folder = join(FOLDER, "node_modules", name);
    const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
    const own = join(folder, "LICENSE");
    const text = existsSync(own)
      ? readFileSync(own, "utf8")
      : readFileSync(join(FOLDER, "../LICENSE"), "utf8").replace(/Copyright.*/, "Copyright (c) Microsoft Corporation");
    return `${name} ${version}, ${license}\n\n${text.trim()}\n`;
  });
  return Buffer.from(texts.join(`\n${"-".repeat(80)}\n\n`));
}

const built = { "sources.sha256": Buffer.from(hashOfSources()) };
const texts = {};
const bundled = [];
for (const [name, [script, ...sheets]] of Object.entries(ENTRIES)) {
  const { files, inputs } = await bundle({
    entryPoints: { [name]: join(SOURCES, script) },
    absWorkingDir: FOLDER,
    outdir: DIST,
    splitting: true, // what a script loads later is a file of its own
    chunkNames: `${name}-[hash]`,
  });
  Object.assign(built, files);
  bundled.push(...inputs);
  texts[name] = await textsOf(inputs);
  if (sheets.length) built[`${name}.css`] = (await bundleStyles(sheets)).contents;
}
built["plotly.js.gz"] = packedPlotly();
built[RUNTIME] = packedRuntime();
const engine = await bundleEngine(built[RUNTIME]);
built["engine.js"] = engine.contents;
built["licences.txt"] = licencesOf([...bundled, ...engine.inputs, `node_modules/${PLOTLY}`]);
built["texts.json"] = Buffer.from(`${JSON.stringify(texts, null, 1)}\n`);

if (process.argv.includes("--check")) {
  const wrong = readdirSync(DIST).filter((name) => !(name in built));
  for (const [name, contents] of Object.entries(built)) {
    try {
      if (!readFileSync(join(DIST, name)).equals(contents)) wrong.push(name);
    } catch {
      wrong.push(name);
    }
  }
  if (wrong.length) {
    console.error(`Not built from these sources: ${wrong.join(", ")}. Run: npm run build`);
    process.exit(1);
  }
} else {
  mkdirSync(DIST, { recursive: true });
  for (const name of readdirSync(DIST)) if (!(name in built)) rmSync(join(DIST, name));
  for (const [name, contents] of Object.entries(built)) writeFileSync(join(DIST, name), contents);
}
