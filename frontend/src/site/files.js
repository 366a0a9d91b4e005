// The files of the site, by paths below its folder. In a site of a single file (headscope site --single-file) they stand
// in the page, as base64.
const FOLDER = new URL(".", import.meta.url);

const inPage = (path) => document.getElementById(`file:${path}`);

export const isSingleFile = () => inPage("site.json") !== null;

/** @param {string} path "" for the folder */
export const fileAddress = (path) =>
  (isSingleFile() ? location.href.split(/[?#]/)[0] : new URL(".", FOLDER).href) + path;

/** @param {string} path @returns {Promise<Response>} */
export async function openFile(path) {
  const held = inPage(path);
  if (held) return new Response(decodeBase64(held.textContent));
  const answer = await fetch(fileAddress(path));
  if (!answer.ok) throw new Error(`${path}: ${answer.status}`);
  return answer;
}

function decodeBase64(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at++) bytes[at] = letters.charCodeAt(at);
  return bytes;
}
