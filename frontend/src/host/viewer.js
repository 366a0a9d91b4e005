// What belongs to the viewer: the language of the page, for screen readers and hyphenation, and what this browser keeps
// for the next visit. data = {language, keep: {name of a cookie: [value, seconds]}}.
export default function viewer({ data }) {
  document.documentElement.lang = data.language;
  for (const [name, [value, age]] of Object.entries(data.keep))
    document.cookie = `${name}=${value}; path=/; max-age=${age}; samesite=lax`;
}
