// The header: the pages, the model, the link, and what belongs to the viewer.
import { buttonEl, el } from "../core/dom.js";
import { makeMenu } from "../core/menu.js";
import { keep } from "../core/kept.js";

const COLOURS = ["system", "light", "dark"];
const COPIED = 1600; // milliseconds that the button says so
const PHONE = window.matchMedia("(max-width: 760px)"); // as in site.css

// frame: see frame.js.
export class Header {
  constructor(frame) {
    const { t, site } = frame;
    this.frame = frame;
    this.links = frame.pages.map(({ name, title }) =>
      el("a", { "data-page": name, click: (event) => this.follow(event, name) }, t(title)),
    );
    this.pages = choice(
      t("pages"),
      frame.pages.map(({ name, title }) => [name, t(title)]),
      (name) => frame.openPage(name),
    );
    this.models = choice(
      t("model"),
      site.models.map(({ about }) => [
        about.name,
        t("model_option", {
          name: about.name,
          source: frame.translate(about.languages[0]),
          target: frame.translate(about.languages[1]),
        }),
      ]),
      (name) => frame.openModel(name),
    );
    this.models.hidden = site.models.length < 2;
    const copies = { class: "hs-button", "data-testid": "copy-link", title: t("link_title"), click: () => this.copy() };
    this.link = buttonEl(copies, t("link"));
    this.settings = this.makeSettings();
    this.element = el(
      "header",
      { class: "hs-site-header" },
      el("a", { class: "hs-skip", href: "#hs-content" }, t("skip")),
      el("a", { class: "hs-brand", href: frame.href(frame.pages[0].name) }, "Head", el("span", null, "scope")),
      el("nav", { "aria-label": t("pages"), hidden: this.links.length < 2 }, ...this.links),
      el("div", { class: "hs-pages-folded", hidden: this.links.length < 2 }, this.pages),
      el("span", { class: "hs-spring" }),
    );
    PHONE.onchange = () => this.place();
    this.place();
  }

  // On a phone the model and the link stand in the menu.
  place() {
    this.element.append(this.models, this.link, this.settings);
    if (PHONE.matches) this.settings.querySelector(".hs-menu").prepend(this.models, this.link);
  }

  makeSettings() {
    const { frame } = this;
    const { t, site } = frame;
    const speak = async (code) => {
      keep("language", code);
      try {
        await frame.speak(code);
      } catch (error) {
        keep("language", (languages.value = frame.language));
        frame.fail(error, () => speak(code), "link");
      }
    };
    const languages = choice(t("language"), Object.entries(site.languages), speak);
    languages.value = frame.language;
    const colours = choice(
      t("colours"),
      COLOURS.map((name) => [name, t("colours_" + name)]),
      (name) => {
        keep("colours", name);
        frame.paint(name);
      },
    );
    colours.value = frame.colours;
    const big = el("input", { type: "checkbox", "data-testid": "big" });
    big.checked = frame.state.view.big;
    big.addEventListener("change", () => {
      keep("big", big.checked ? "1" : "0");
      frame.enlarge(big.checked);
    });
    const row = (text, control) => el("label", null, el("span", null, text), control);
    return makeMenu(
      el("span", { "aria-label": t("settings") }, "⋯"),
      { class: "hs-settings", "data-testid": "settings" },
      el(
        "div",
        { class: "hs-menu" },
        ...(Object.keys(site.languages).length > 1 ? [row(t("language"), languages)] : []),
        row(t("colours"), colours),
        row(t("big"), big),
      ),
    );
  }

  follow(event, name) {
    if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return; // the browser's
    event.preventDefault();
    this.frame.openPage(name);
  }

  async copy() {
    const { frame, link } = this;
    try {
      await navigator.clipboard.writeText(frame.href());
    } catch {
      return; // not allowed: the address bar holds the same link
    }
    link.textContent = frame.t("link_copied");
    setTimeout(() => (link.textContent = frame.t("link")), COPIED);
  }

  draw() {
    const { page, checkpoint } = this.frame.state;
    for (const link of this.links) {
      link.href = this.frame.href(link.dataset.page);
      if (link.dataset.page === page) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    this.pages.value = page;
    this.models.value = checkpoint;
  }
}

// A native menu. options: [value, text]; choose: called with a value.
function choice(label, options, choose) {
  const change = ({ target }) => choose(target.value);
  const inside = options.map(([value, text]) => el("option", { value }, text));
  return el("select", { "aria-label": label, change }, ...inside);
}
