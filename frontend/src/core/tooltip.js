import { el } from "./dom.js";

// A tooltip inside `root`: lines of text, the first line bold; it stays inside the view.
export function makeTooltip(root) {
  const box = el("div", { class: "hs-tip", role: "tooltip", "data-testid": "tooltip", hidden: true });
  root.append(box);
  return {
    box,
    show(lines, clientX, clientY) {
      box.replaceChildren(
        ...lines.filter(Boolean).map((line, i) => {
          const text = typeof line === "string" ? line : line.text;
          return el("div", { class: i === 0 ? "hs-tip-first" : line.class || null, dir: "auto" }, text);
        }),
      );
      box.hidden = false;
      const frame = root.getBoundingClientRect();
      const x = clientX - frame.left + 14;
      const limit = Math.min(frame.width, document.documentElement.clientWidth - frame.left) - box.offsetWidth - 4;
      const flipped = clientX - frame.left - box.offsetWidth - 14;
      box.style.left = Math.max(0, x <= limit ? x : Math.max(flipped, 0)) + "px";
      const below = clientY + 16 + box.offsetHeight > window.innerHeight;
      box.style.top = Math.max(0, clientY - frame.top + (below ? -box.offsetHeight - 12 : 16)) + "px";
    },
    hide() {
      box.hidden = true;
    },
  };
}

// Shows lines at the pointer, or below the element if it has the keyboard focus. tooltip: of makeTooltip.
export function hint(element, tooltip, lines) {
  const show = (event) => tooltip.show(lines(), event.clientX, event.clientY);
  element.addEventListener("pointerenter", show);
  element.addEventListener("pointermove", show);
  element.addEventListener("pointerleave", () => tooltip.hide());
  element.addEventListener("blur", () => tooltip.hide());
  element.addEventListener("focus", () => {
    const rect = element.getBoundingClientRect();
    if (element.matches(":focus-visible")) tooltip.show(lines(), rect.left, rect.bottom);
  });
  return element;
}
