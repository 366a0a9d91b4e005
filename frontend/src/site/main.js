import { openFile } from "./files.js";
import { Frame } from "./frame.js";

const frame = new Frame(await (await openFile("site.json")).json());
await frame.start();
