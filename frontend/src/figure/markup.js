import { el } from "../core/dom.js";

// Turns the small markup of plotly's texts into elements; everything else in them is text.
export function figureMarkup(text) {
  const root = el("span");
  let at = root;
  for (const part of String(text || "").split(/(<\/?(?:i|b|sub|sup)>|<br>)/)) {
    if (part === "<br>") at.append(el("br"));
    else if (/^<\//.test(part)) at = at.parentNode || root;
    else if (/^<(i|b|sub|sup)>$/.test(part)) {
      const inner = el(part.slice(1, -1));
      at.append(inner);
      at = inner;
    } else if (part) at.append(part.replace(/&lt;/g, "<").replace(/&gt;/g, ">").replace(/&amp;/g, "&"));
  }
  return Array.from(root.childNodes);
}
