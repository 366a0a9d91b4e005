// Decoding step by step on the site; its other parts need the server.
import { Decoding } from "../../decoding/component.js";
import { liveDecoding } from "../../decoding/live.js";
import { followLink } from "./picture.js";

export const page = {
  name: "decoding",
  waiting: () => "waiting",
  mount(root, frame) {
    const view = new Decoding(frame.shadow(root, "decoding"));
    const start = { begin: "", branches: "", at: "" };
    return followLink(frame, view, liveDecoding(view, frame.live), { name: "state", start });
  },
};
