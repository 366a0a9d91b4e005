import { chooseParticles } from "./particles.js";

// Every text a person reads stands in a texts.js (exported as *_TEXTS: key -> English). The build lists them for
// translators, and Python hands over what a picture needs in the reader's language.

function fillText(text, values) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => (values && name in values ? String(values[name]) : whole));
}

// translations: English -> the reader's language, what is missing stays English; texts: key -> English.
/** @param {Record<string, string> | null | undefined} translations @param {Record<string, string>} texts */
export function makeTexts(translations, texts) {
  return function t(key, values) {
    const english = texts[key];
    if (english === undefined) return key;
    const translated = translations?.[english];
    return translated === undefined ? fillText(english, values) : chooseParticles(fillText(translated, values));
  };
}
