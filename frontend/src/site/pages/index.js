// The pages of the site; transformer/view/site_pages.py lists them. open: returns the page's module; own: see there.
import { SITE_PAGES } from "../../state/generated.js";
import * as heads from "./heads.js";

const OPEN = {
  heads: async () => heads,
  lessons: () => import("./lessons.js"),
  anatomy: () => import("./anatomy.js"),
  decoding: () => import("./decoding.js"),
  positions: () => import("./positions.js"),
  feedforward: () => import("./feedforward.js"),
  lab: () => import("./lab.js"),
  training: () => import("./training.js"),
};

export const PAGES = Object.entries(SITE_PAGES).map(([name, page]) => ({
  name,
  title: `page_${name}`,
  ...page,
  open: OPEN[name],
}));
