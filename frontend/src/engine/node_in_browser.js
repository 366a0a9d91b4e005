// What the package of SentencePiece finds in a browser in place of Node's "fs" and of what does not work there (build.js).
import { unpack } from "./unpack.js";

// It reads its model from a file, and here the file is the bytes themselves.
export const readFileSync = (bytes) => bytes;

// Its WebAssembly: base64 of a gzip file.
export const unpackText = (text) => unpack(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)));

// A function of JavaScript that calls one of C++. Emscripten makes the text of such a function and compiles it, which a
// Content-Security-Policy may forbid. types: of the result, of `this`, of each argument.
export function invoker(types, isMethod, returns, call, target, runDestructors) {
  const [result, owner, ...parameters] = types;
  return function (...values) {
    const destructors = [];
    const passed = isMethod ? [owner.toWireType(destructors, this)] : [];
    parameters.forEach((type, index) => passed.push(type.toWireType(destructors, values[index])));
    const returned = call(target, ...passed);
    runDestructors(destructors);
    return returns ? result.fromWireType(returned) : undefined;
  };
}
