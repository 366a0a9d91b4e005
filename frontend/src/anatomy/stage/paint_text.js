import { shorten } from "../../core/dom.js";
import { cssColour } from "../../core/colour.js";
import { tokenSize } from "./measure.js";

// Texts, formulas and columns of tokens on the canvas of the anatomy.

export function paintText(context, item, current, kit, theme, unit) {
  context.font = `${item.weight || 400} ${unit * (item.size || 1)}px ${theme.font}`;
  context.fillStyle = cssColour(kit.colour(theme, item.colour || "ink"));
  context.textAlign = item.align || "left";
  context.textBaseline = "middle";
  const text = item.w ? shorten(context, item.text, item.w) : item.text;
  context.fillText(text, textX(item, current), current.y + (item.h || 0) / 2);
}

const SHARES = { left: 0, center: 0.5, right: 1 }; // of the width before the anchor

// With a width, the text is fitted into it; without, x is its anchor.
const textX = ({ w = 0, align = "left" }, { x }) => x + w * SHARES[align];

// "W_3^Q": letters in italics, what follows _ and ^ (one sign, or a group in braces) below and above the line.
function mathParts(text) {
  const parts = [];
  const pattern = /([_^])(\{[^}]*\}|.)|([^_^]+)/gu;
  for (const [, sign, group, plain] of text.matchAll(pattern)) {
    if (sign) parts.push({ text: group.replace(/^\{|\}$/g, ""), level: sign === "_" ? -1 : 1 });
    else
      for (const run of plain.split(/(?<![A-Za-z])([A-Za-z])(?![A-Za-z])/))
        if (run) parts.push({ text: run, level: 0 });
  }
  return parts;
}

export function paintMath(context, item, current, kit, theme, unit) {
  const size = unit * (item.size || 1.05);
  const font = (level, text) => {
    const slanted = /^[a-zA-Z_]{1,2}$/.test(text) || (level === 0 && /^[A-Za-z]$/.test(text)) ? "italic " : "";
    return `${slanted}${item.weight || 400} ${level ? size * 0.72 : size}px ${theme.font}`;
  };
  context.textBaseline = "middle";
  context.textAlign = "left";
  context.fillStyle = cssColour(kit.colour(theme, item.colour || "ink"));
  let width = 0;
  let stack = 0;
  const placed = [];
  let last = 0;
  for (const part of mathParts(item.text)) {
    context.font = font(part.level, part.text);
    const wide = context.measureText(part.text).width;
    // A power behind an index stands above it.
    const start = part.level && last && part.level !== last ? stack : width;
    placed.push({ ...part, x: start });
    stack = start;
    width = Math.max(width, start + wide + (part.level ? size * 0.06 : 0));
    last = part.level;
  }
  const left = textX(item, current) - width * SHARES[item.align || "left"];
  const y = current.y + (item.h || 0) / 2;
  for (const part of placed) {
    context.font = font(part.level, part.text);
    context.fillText(part.text, left + part.x, y - part.level * size * 0.34);
  }
}

export function paintTokens(context, item, current, kit, theme, lit, unit) {
  const { labels } = item;
  const { x, y, w, h } = current;
  const rows = item.orient !== "columns";
  const space = (rows ? h : w) / Math.max(1, labels.length);
  const size = tokenSize(unit, item.size, space);
  const lean = !rows && space < size * 4;
  // If labels would touch, only every second, third, ... is written.
  const every = Math.max(1, Math.ceil((rows || lean ? size : 0) / space - 0.02));
  const axis = lit && item.axis ? lit.axes[item.axis] : undefined;
  const hue = cssColour(kit.colour(theme, item.colour || "ink"));
  const alpha = context.globalAlpha;
  context.textBaseline = "middle";
  labels.forEach((label, i) => {
    const marked = i === item.current || i === axis;
    const near = [item.current, axis].some((index) => Math.abs((index ?? Infinity) - i) < every);
    if (!marked && (i % every || (near && every > 1))) return;
    context.font = `${marked ? 600 : 400} ${size}px ${theme.font}`;
    context.fillStyle = marked ? hue : cssColour(theme.ink);
    context.globalAlpha = i > (item.dimAfter ?? Infinity) ? alpha * 0.38 : alpha;
    const at = (i + 0.5) * space;
    if (rows) {
      context.textAlign = item.align || "right";
      const anchor = context.textAlign === "right" ? x + w : context.textAlign === "center" ? x + w / 2 : x;
      context.fillText(shorten(context, label, w), anchor, y + at);
    } else if (lean) {
      context.save();
      context.translate(x + at + size * 0.1, y + h - size * 0.2);
      context.rotate(-Math.PI / 3);
      context.textAlign = "left";
      context.fillText(shorten(context, label, Math.max(size * 2, (h - size * 0.5) / Math.sin(Math.PI / 3))), 0, 0);
      context.restore();
    } else {
      context.textAlign = "center";
      context.fillText(shorten(context, label, space - 4), x + at, y + h - size * 0.75);
    }
  });
  context.globalAlpha = alpha;
}
