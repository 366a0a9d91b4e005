// What the tests of accessibility ask a page, shadow roots included.

window.hsDeep = () => {
  let at = document.activeElement;
  while (at && at.shadowRoot && at.shadowRoot.activeElement) at = at.shadowRoot.activeElement;
  return at;
};
window.hsEvery = (selector) => {
  const found = [];
  const walk = (root) => {
    for (const node of root.querySelectorAll("*")) {
      if (node.matches(selector)) found.push(node);
      if (node.shadowRoot) walk(node.shadowRoot);
    }
  };
  walk(document);
  return found;
};
window.hsSeen = (node) => node.checkVisibility({visibilityProperty: true}) && node.getClientRects().length > 0;
window.hsName = (node) => {
  const labels = [...(node.labels || [])].map((label) => label.textContent).join();
  const label = node.getAttribute("aria-label") || labels || node.textContent;
  return (label || node.getAttribute("title") || node.getAttribute("placeholder") || "").trim();
};
window.hsLook = (node) => {
  const looks = [];
  for (let at = node, up = 0; at && up < 4; up++) {
    const s = getComputedStyle(at);
    const outline = s.outlineStyle + s.outlineWidth + s.outlineColor;
    looks.push([outline, s.boxShadow, s.borderColor, s.backgroundColor].join());
    at = at.parentElement || (at.getRootNode() || {}).host;
  }
  return looks.join("|");
};

// What a person can use.
window.HS_USE = "a[href], button, input, select, textarea, summary, [tabindex='0']";

window.HS_CLOSED = "details:not([open]):not(.hs-save):not(.hs-absent):not(.hs-pages details)";
window.hsOpenAll = () => hsEvery(HS_CLOSED).forEach((node) => { node.open = true; });

// Pictures that say nothing of what they show, and are not hidden as mere ornament.
window.hsBare = () => {
  const says = ["img", "application", "grid", "figure"];
  return hsEvery("canvas, svg").filter((node) => {
    const box = node.getBoundingClientRect();
    if (!hsSeen(node) || box.width < 60 || box.height < 40 || node.id === "js-plotly-tester") return false;
    for (let at = node; at; at = at.parentElement || (at.getRootNode() || {}).host) {
      if (at.getAttribute("aria-hidden") === "true") return false;
      const named = says.includes(at.getAttribute("role")) || at.tagName === "FIGURE";
      if (named && at.getAttribute("aria-label")) return false;
    }
    return true;
  }).map((node) => node.outerHTML.slice(0, 120));
};

// Tab through the page: begin, look where it went (null: at the end), and what was left out. In a group of choices,
// one is the stop, and the arrow keys go on from it.
window.hsBegin = () => {
  window.hsWanted = hsEvery(HS_USE).filter((node) => hsSeen(node) && !node.disabled && node.tabIndex >= 0);
  window.hsBefore = new Map(hsWanted.map((node) => [node, hsLook(node)]));
  window.hsStops = [];
  return hsWanted.length;
};
window.hsStop = () => {
  const at = hsDeep();
  if (!at || at === document.body || hsStops.includes(at)) return null;
  hsStops.push(at);
  const box = at.getBoundingClientRect();
  return { html: at.outerHTML.slice(0, 110), x: box.x, y: box.y, name: hsName(at).slice(0, 60) };
};
window.hsUnseen = () => hsBefore.has(hsDeep()) && hsLook(hsDeep()) === hsBefore.get(hsDeep());
window.hsMissed = () => {
  const group = (node) => node.closest("[role=radiogroup]");
  return hsWanted.filter((node) => node.isConnected && hsSeen(node) && !hsStops.includes(node) && node.tabIndex >= 0)
    .filter((node) => !(node.matches("[role=radio]") && hsStops.some((stop) => group(stop) === group(node))))
    .map((node) => node.outerHTML.slice(0, 160));
};

// Controls outside the page that no scrolling brings in.
window.hsOutside = () => hsEvery(HS_USE).filter(hsSeen).filter((node) => {
  const box = node.getBoundingClientRect();
  if ((box.left >= -1 && box.right <= innerWidth + 1) || node.matches(".hs-skip")) return false;
  for (let at = node; at; at = at.parentElement || (at.getRootNode() || {}).host)
    if (/auto|scroll/.test(getComputedStyle(at).overflowX) && at.scrollWidth > at.clientWidth) return false;
  return true;
}).map((node) => node.outerHTML.slice(0, 120));

// Pressed controls that look like controls that are not pressed.
window.hsSameWhenPressed = () => {
  const names = ["backgroundColor", "outlineStyle", "borderColor", "fontWeight", "color", "textDecorationLine"];
  const look = (node) => names.map((name) => getComputedStyle(node)[name]).join();
  const off = (node) => [node.getAttribute("aria-pressed"), node.getAttribute("aria-checked")].includes("false");
  const same = hsEvery("[aria-pressed=true], [role=radio][aria-checked=true]").filter(hsSeen).filter((node) => {
    const other = [...node.parentElement.children].find(off);
    return other && look(node) === look(other);
  });
  const scales = hsEvery(".hs-ramp"); // colour scales
  const bare = scales.filter((node) => getComputedStyle(node).backgroundImage === "none");
  return [...same, ...bare].map((node) => node.outerHTML.slice(0, 100));
};
