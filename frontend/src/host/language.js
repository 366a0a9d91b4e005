// The page frame tells the browser two languages: the language of the page, for screen readers and hyphenation, and the
// one chosen in the header, for the next visit. data = {language, chosen}.
const YEAR = 365 * 24 * 60 * 60; // seconds

export default function language({ data }) {
  document.documentElement.lang = data.language;
  if (data.chosen) document.cookie = `headscope_language=${data.chosen}; path=/; max-age=${YEAR}; samesite=lax`;
}
