// What belongs to the viewer and not to the link: language, big text, colours. This browser keeps it.
const PREFIX = "headscope_";

export function kept(name) {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null; // storage is off
  }
}

export function keep(name, value) {
  try {
    localStorage.setItem(PREFIX + name, value);
  } catch {
    // it lasts as long as the page
  }
}
