// The list of lessons on the site.
import { drawList } from "../../lesson/list.js";

export const page = {
  name: "lessons",
  sentence: false,
  parts: () => [],

  mount(root, frame) {
    const begin = async () => drawList(root, await frame.lessons(), frame.texts, frame.openLesson);
    begin();
    return { show() {}, destroy() {} };
  },
};
