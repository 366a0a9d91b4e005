// The recorded trainings on the site: of the page Training what needs no server. Options of its link are those of
// pages/training/.
import { RecordedTrainings } from "../../training/recorded.js";

export const page = {
  name: "training",
  sentence: false,

  mount(root, frame) {
    const trainings = new RecordedTrainings(frame.shadow(root, "training"), {
      open: (name) => frame.open(`trainings/${name}`),
      pack: (id) => frame.pack(`${id}.pack`, "trainings"),
      language: document.documentElement.lang,
      link: frame.options,
      shown: () => frame.loaded(),
      about: () => ({ texts: frame.texts, big: frame.view.big }),
    });
    return { show: () => trainings.show(), destroy: () => trainings.destroy() };
  },
};
