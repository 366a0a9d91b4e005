import assert from "node:assert/strict";
import { test } from "node:test";
import { makeTexts } from "../core/texts.js";
import { SWITCH_FORMS } from "../state/generated.js";
import { SHARED_TEXTS } from "../state/texts.js";
import { refusedSwitches } from "./check.js";
import { SwitchCards } from "./switches.js";
import { LAB_TEXTS } from "./texts.js";
import { inWords, sharedTexts } from "./words.js";

// What the cards need of an element.
class Element {
  attributes = {};
  children = [];
  dataset = {};
  classList = { add() {} };
  addEventListener() {}
  setAttribute(name, value) {
    this.attributes[name] = value;
  }
  append(...children) {
    this.children.push(...children);
  }
  querySelector(selector) {
    const inside = this.children.filter((child) => child instanceof Element);
    const here = inside.find((child) => `.${child.attributes.class}` === selector);
    return here ?? inside.map((child) => child.querySelector(selector)).find(Boolean);
  }
}

test("a switch that is only on or off has a card, words and a value, all from its own texts", (context) => {
  globalThis.document = /** @type {any} */ ({ createElement: () => new Element() });
  context.after(() => Reflect.deleteProperty(globalThis, "document"));
  const cards = new SwitchCards({ t: makeTexts(null, LAB_TEXTS) });
  const titles = Object.fromEntries(
    cards.element.children.map((card) => {
      const [title] = card.querySelector(".hs-card-title").children;
      return [card.attributes["data-testid"], [title.children[0], title.attributes["aria-description"]]];
    }),
  );
  const config = { encoder_layers: 2, decoder_layers: 2, heads: 2, positions: "relative" };
  const names = Object.keys(SWITCH_FORMS).filter((name) => SWITCH_FORMS[name].settings.includes("off"));
  assert.ok(names.includes("causal"));
  for (const name of names) {
    const texts = [SHARED_TEXTS[`lab_${name}`], SHARED_TEXTS[`lab_${name}_title`]];
    assert.ok(texts.every(Boolean));
    assert.deepEqual(titles[`card-${name}`], texts);
    assert.equal(inWords(sharedTexts({}), { [name]: "off" }), SHARED_TEXTS[name]);
    assert.deepEqual(refusedSwitches({ [name]: "off" }, config), []);
    assert.deepEqual(refusedSwitches({ [name]: "on" }, config), [name]);
  }
  assert.deepEqual(refusedSwitches({ paint: "2:1_4@cross.2.1" }, config), ["paint"]); // of another page
});
