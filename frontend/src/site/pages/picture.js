// A page, or a part of one, that is a picture of its own which follows the engine (live/view.js).

/**
 * @param {any} frame what the page gets
 * @param {import("../../host/plain_view.js").PlainView} view
 * @param {{show(data: any): void, stop(): void}} driver
 * @param {{name: string, start: Record<string, string | number>, allowed?: Record<string, string[]>, data?: any}} about
 *   name: under which the view reports what the reader chooses; start: every option of the link, where the link does not
 *   name it; allowed: its values, where these are few; data: what the view needs besides
 */
export function followLink(frame, view, driver, { name, start, allowed = {}, data = {} }) {
  const { options } = frame;
  let revision = 0;

  const read = (option) => {
    const asked = options.get(option);
    const usual = start[option];
    if (asked === undefined || (allowed[option] && !allowed[option].includes(asked))) return usual;
    if (typeof usual === "string") return asked;
    return /^\d{1,6}$/.test(asked) ? Number(asked) : usual;
  };
  const show = () =>
    driver.show({
      ...data,
      model: frame.about.name,
      [name]: Object.fromEntries(Object.keys(start).map((option) => [option, read(option)])),
      revision: ++revision,
      big: frame.view.big,
      texts: frame.texts,
    });

  view.driver = driver;
  view.component = {
    setStateValue(_, chosen) {
      for (const option of Object.keys(start).filter((one) => one in chosen))
        options.set(option, chosen[option] === start[option] ? null : chosen[option]);
    },
  };
  show();
  return { show, destroy: () => view.destroy() };
}
