// Hands over what the feeds of these names bring (feed.js): what is there already, then whatever comes. Returns how to
// stop listening.
export function listenToFeeds(names, take) {
  window.__headscopeFeeds = window.__headscopeFeeds || Object.assign(new EventTarget(), { kept: new Map() });
  const feeds = window.__headscopeFeeds;
  const listener = ({ detail }) => names.includes(detail.name) && take(detail.data, detail.name);
  feeds.addEventListener("feed", listener);
  for (const name of names) if (feeds.kept.has(name)) take(feeds.kept.get(name), name);
  return () => feeds.removeEventListener("feed", listener);
}
