import { watchConnection } from "./connection.js";

// What belongs to the viewer: the language of the page, for screen readers and hyphenation; what this browser keeps for
// the next visit; and what to say while there is no connection. data = {language, keep: {name of a cookie: [value,
// seconds]}, lost}.
export default function viewer({ data }) {
  document.documentElement.lang = data.language;
  for (const [name, [value, age]] of Object.entries(data.keep))
    document.cookie = `${name}=${value}; path=/; max-age=${age}; samesite=lax`;
  watchConnection(data.lost);
}
