import { el, sizeCanvas } from "../core/dom.js";

// A canvas that shows heads. The slow part is drawn once into `base`; choosing and hovering only copy it and draw
// labels and outlines over the copy. The same two steps draw into a file: see core/svg_context.js.
export class HeadCanvas {
  /** @type {number} */ width;
  /** @type {number} */ height;
  /** @type {any} */ hover = null;
  /** @type {PointerEvent | null} */ pointerEvent = null;

  // attributes: for the canvas
  constructor(kind, hooks, attributes) {
    this.kind = kind;
    this.hooks = hooks;
    this.base = document.createElement("canvas");
    this.canvas = el("canvas", {
      tabindex: "0",
      pointermove: (event) => {
        this.pointerEvent = event;
        this.pointer(event);
      },
      pointerleave: () => this.leave(),
      click: (event) => this.click(event),
      keydown: (event) => this.key(event),
      focus: () => this.paint(),
      blur: () => this.paint(),
      ...attributes,
    });
  }

  // Whether there is something to draw.
  get ready() {
    return this.width !== undefined;
  }

  paintBase() {
    this.drawBase(sizeCanvas(this.base, this.width, this.height));
  }

  // After another picture was drawn under a pointer at rest: its tooltip tells what is there now.
  pointAgain() {
    if (this.pointerEvent) this.pointer(this.pointerEvent);
  }

  paint() {
    if (!this.ready) return;
    const context = sizeCanvas(this.canvas, this.width, this.height);
    context.drawImage(this.base, 0, 0, this.width, this.height);
    this.drawOver(context);
  }

  // Draws what is on the screen into another context.
  drawOn(context) {
    this.drawBase(context);
    this.drawOver(context);
  }

  drawBase(_context) {}
  drawOver(_context) {}
  pointer(_event) {}
  click(_event) {}
  key(_event) {}

  leave() {
    this.hover = null;
    this.pointerEvent = null;
    this.paint();
    this.hooks.unhover();
  }
}

export function outline(context, x, y, w, h, colour, width) {
  context.strokeStyle = colour;
  context.lineWidth = width;
  context.strokeRect(x, y, w, h);
}
