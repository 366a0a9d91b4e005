#!/bin/sh
# On a page that was opened as a file, Chromium starts a worker from a blob: URL if it is a classic script, but not if it
# is a module; the error event says nothing of why.
#
# With: Chromium 153.0.8010.0 (npm: @sparticuz/chromium 153.0.0, playwright-core 1.61.0), Node 20; seen too with Chromium
# 156.0.8078.108; tried on 2026-11-27 on Linux. Firefox 153.8.0 starts both.
#
# It matters to whoever puts an application with a worker into one HTML file: both kinds run as long as the page comes
# from a server, and the usual way to test is a server. Bundled as a classic script (esbuild: format "iife", with
# import.meta.url defined as self.location.href), the same worker runs from a file too.
#
# Seen:
#
#     file  classic  runs
#     file  module   error, message undefined
#     http  classic  runs
#     http  module   runs
#
# Fails if Chromium no longer does this.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund @sparticuz/chromium@153.0.0 playwright-core@1.61.0
cat >page.html <<'HTML'
<!doctype html>
<meta charset="utf-8">
<script>
  const start = (type) =>
    new Promise((resolve) => {
      const script = URL.createObjectURL(new Blob(["postMessage('runs')"], { type: "text/javascript" }));
      const worker = new Worker(script, { type });
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = ({ type, message }) => resolve(`${type}, message ${message}`);
    });
</script>
HTML
cat >try.mjs <<'JAVASCRIPT'
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { pathToFileURL } from "node:url";
import chromium from "@sparticuz/chromium";
import playwright from "playwright-core";

const server = createServer((_, answer) => answer.setHeader("content-type", "text/html").end(readFileSync("page.html")));
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const pages = { file: pathToFileURL("page.html").href, http: `http://127.0.0.1:${server.address().port}/` };
const executablePath = await chromium.executablePath();
const browser = await playwright.chromium.launch({ executablePath, args: ["--no-sandbox"] });
const page = await browser.newPage();
const found = [];
for (const [scheme, address] of Object.entries(pages)) {
  await page.goto(address);
  for (const type of ["classic", "module"]) {
    const result = await page.evaluate((type) => start(type), type);
    console.log(`${scheme}  ${type.padEnd(7)}  ${result}`);
    found.push(result);
  }
}
await browser.close();
server.close();
assert.deepEqual(found, ["runs", "error, message undefined", "runs", "runs"], "this finding is out of date");
JAVASCRIPT
TMPDIR=$folder node try.mjs
