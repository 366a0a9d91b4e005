// What the tests of accessibility ask a page, shadow roots included.

window.hsDeep = () => {
  let at = document.activeElement;
  while (at && at.shadowRoot && at.shadowRoot.activeElement) at = at.shadowRoot.activeElement;
  return at;
};
window.hsEvery = (selector) => {
  const found = [];
  const walk = (root) => {
    for (const one of root.querySelectorAll("*")) {
      if (one.matches(selector)) found.push(one);
      if (one.shadowRoot) walk(one.shadowRoot);
    }
  };
  walk(document);
  return found;
};
window.hsSeen = (one) => one.checkVisibility({visibilityProperty: true}) && one.getClientRects().length > 0;
window.hsName = (one) => {
  const labels = [...(one.labels || [])].map((label) => label.textContent).join();
  const said = one.getAttribute("aria-label") || labels || one.textContent;
  return (said || one.getAttribute("title") || one.getAttribute("placeholder") || "").trim();
};
window.hsLook = (one) => {
  const looks = [];
  for (let at = one, up = 0; at && up < 4; up++) {
    const s = getComputedStyle(at);
    const outline = s.outlineStyle + s.outlineWidth + s.outlineColor;
    looks.push([outline, s.boxShadow, s.borderColor, s.backgroundColor].join());
    at = at.parentElement || (at.getRootNode() || {}).host;
  }
  return looks.join("|");
};

// What a person can use.
window.HS_USE = "a[href], button, input, select, textarea, summary, [tabindex='0']";

window.HS_CLOSED = "details:not([open]):not(.hs-save):not(.hs-absent)";
window.hsOpenAll = () => hsEvery(HS_CLOSED).forEach((one) => { one.open = true; });

// Pictures that say nothing of what they show, and are not hidden as mere ornament.
window.hsBare = () => {
  const says = ["img", "application", "grid", "figure"];
  return hsEvery("canvas, svg").filter((one) => {
    const box = one.getBoundingClientRect();
    if (!hsSeen(one) || box.width < 60 || box.height < 40 || one.id === "js-plotly-tester") return false;
    for (let at = one; at; at = at.parentElement || (at.getRootNode() || {}).host) {
      if (at.getAttribute("aria-hidden") === "true") return false;
      const named = says.includes(at.getAttribute("role")) || at.tagName === "FIGURE";
      if (named && at.getAttribute("aria-label")) return false;
    }
    return true;
  }).map((one) => one.outerHTML.slice(0, 120));
};

// Tab through the page: begin, look where it went (null: at the end), and what was left out. In a group of choices one is
// the stop, and the arrow keys go on from it.
window.hsBegin = () => {
  window.hsWanted = hsEvery(HS_USE).filter((one) => hsSeen(one) && !one.disabled && one.tabIndex >= 0);
  window.hsBefore = new Map(hsWanted.map((one) => [one, hsLook(one)]));
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
  const group = (one) => one.closest("[role=radiogroup]");
  return hsWanted.filter((one) => one.isConnected && hsSeen(one) && !hsStops.includes(one) && one.tabIndex >= 0)
    .filter((one) => !(one.matches("[role=radio]") && hsStops.some((stop) => group(stop) === group(one))))
    .map((one) => one.outerHTML.slice(0, 160));
};

// Controls outside the page that no scrolling brings in.
window.hsOutside = () => hsEvery(HS_USE).filter(hsSeen).filter((one) => {
  const box = one.getBoundingClientRect();
  if ((box.left >= -1 && box.right <= innerWidth + 1) || one.matches(".hs-skip")) return false;
  for (let at = one; at; at = at.parentElement || (at.getRootNode() || {}).host)
    if (/auto|scroll/.test(getComputedStyle(at).overflowX) && at.scrollWidth > at.clientWidth) return false;
  return true;
}).map((one) => one.outerHTML.slice(0, 120));

// What is pressed and looks as what is not.
window.hsSameWhenPressed = () => {
  const names = ["backgroundColor", "outlineStyle", "borderColor", "fontWeight", "color", "textDecorationLine"];
  const look = (one) => names.map((name) => getComputedStyle(one)[name]).join();
  const off = (one) => [one.getAttribute("aria-pressed"), one.getAttribute("aria-checked")].includes("false");
  const same = hsEvery("[aria-pressed=true], [role=radio][aria-checked=true]").filter(hsSeen).filter((one) => {
    const other = [...one.parentElement.children].find(off);
    return other && look(one) === look(other);
  });
  const bare = hsEvery(".hs-ramp").filter((one) => getComputedStyle(one).backgroundImage === "none"); // a scale of colours
  return [...same, ...bare].map((one) => one.outerHTML.slice(0, 100));
};
