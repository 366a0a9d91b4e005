import { watchConnection } from "./connection.js";
import { watchLinks } from "./navigation.js";

// What belongs to the viewer: the language of the page, for screen readers and hyphenation; what this browser keeps for
// the next visit; what to say while there is no connection; and the header's links. data = {language, keep: {name of a
// cookie: [value, seconds]}, lost}. Sends "go": the path of the page that was pressed.
export default function viewer({ data, setTriggerValue }) {
  document.documentElement.lang = data.language;
  for (const [name, [value, age]] of Object.entries(data.keep))
    document.cookie = `${name}=${value}; path=/; max-age=${age}; samesite=lax`;
  watchConnection(data.lost);
  watchLinks((path) => setTriggerValue("go", path));
}
