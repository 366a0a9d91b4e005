import { el } from "../core/dom.js";
import { Explorer } from "./explorer.js";

// The self-contained page: the page holds the pack as base64; the part of the address after "#" holds the state.

function decodeBase64(text) {
  const letters = atob(text.trim());
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

function stateOfAddress() {
  try {
    return JSON.parse(decodeURIComponent(location.hash.slice(1)));
  } catch {
    return null;
  }
}

function startPage() {
  const pack = document.getElementById("pack");
  const container = document.getElementById("explorer");
  if (!pack || !container) return;
  const root = container.attachShadow({ mode: "open" });
  root.append(el("style", null, document.getElementById("explorer-css")?.textContent ?? ""));
  const explorer = new Explorer(root, {
    onState: (state) => {
      try {
        history.replaceState(null, "", "#" + encodeURIComponent(JSON.stringify(state)));
      } catch {
        // A page inside a notebook may have no address: then the state lives as long as the page.
      }
    },
  });
  explorer.show(decodeBase64(pack.textContent));
  const linkState = stateOfAddress();
  if (linkState && typeof linkState === "object") explorer.setState(linkState);
  window.addEventListener("hashchange", () => {
    const next = stateOfAddress();
    if (next && typeof next === "object") explorer.setState(next);
  });
}

startPage();
