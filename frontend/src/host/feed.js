// Invisible Streamlit components: one passes the picture of a trace to the explorer, one the exact numbers of the
// chosen head. They are separate from the explorer because a component's script is sent with every change of its data,
// and the explorer's script is large. The lab's pictures come in the same way, under other names.
import { feeds, tellFeed } from "./streamlit.js";

export default function (component) {
  const { data, name } = component;
  if (data && data.byteLength && data !== feeds().kept.get(name)) tellFeed(name, data, true);
}
