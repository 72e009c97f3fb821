// A canvas with the resolution of the screen that repaints when its size or the theme changes, and a tooltip.

import { h } from "../dom.js";
import { redraw } from "../patch.js";
import { token } from "../palette.js";

export const FONT = "11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";

/** Width of row labels, the same in all drawings, so that drawings above one another share their x axis. */
export const gutter = (width) => (width < 520 ? 62 : 140);
/** Right margin. */
export const MARGIN = 10;

/**
 * Creates a canvas in `element`, empty until `show({height, label, paint})`: `paint(context, width, height)` in CSS pixels; `height` a
 * number or a function of the width. Returns {canvas, show, repaint, width}.
 */
export function surface(element) {
  const canvas = h("canvas", { role: "img" });
  let width = 0;
  let shown = null;
  const repaint = () => {
    if (!width || !shown || !canvas.isConnected) return;
    const tall = typeof shown.height === "function" ? shown.height(width) : shown.height;
    const ratio = Math.min(3, window.devicePixelRatio || 1);
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(tall * ratio);
    canvas.style.setProperty("height", `${tall}px`);
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.font = FONT;
    shown.paint(context, width, tall);
  };
  element.append(canvas);
  const watch = new ResizeObserver(() => {
    const wide = Math.floor(element.clientWidth);
    if (wide !== width) {
      width = wide;
      repaint();
    }
  });
  watch.observe(element);
  themed(canvas, repaint);
  const show = (next) => {
    shown = next;
    canvas.setAttribute("aria-label", next.label);
    repaint();
  };
  return { canvas, show, repaint, width: () => width };
}

const painters = new WeakMap();
document.addEventListener("themechange", () => {
  for (const canvas of document.querySelectorAll("canvas")) painters.get(canvas)?.();
});

/** Calls `repaint` when the theme changes while the canvas is in the page. */
export const themed = (canvas, repaint) => painters.set(canvas, repaint);

/** Creates a tooltip inside `element` (which is positioned): `show(x, y, lines)`, `hide()`. */
export function tip(element) {
  const box = h("div", { class: "tip", hidden: true });
  element.append(box);
  return {
    show(x, y, lines) {
      redraw(box, lines.filter(Boolean).map((line, place) => h(place ? "span" : "strong", {}, line)));
      box.hidden = false;
      const left = Math.min(x + 14, element.clientWidth - box.offsetWidth - 4);
      const below = y + 16 + box.offsetHeight < element.clientHeight + 60;
      box.style.setProperty("left", `${Math.max(0, left)}px`);
      box.style.setProperty("top", `${below ? y + 16 : y - box.offsetHeight - 10}px`);
    },
    hide() {
      box.hidden = true;
    },
  };
}

/** Returns the pointer's position on a canvas. */
export function place(event, canvas) {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

/** Returns about `most` round axis values from low to high. */
export function ticks(low, high, most) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const rough = span / Math.max(1, most);
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * unit).find((size) => size >= rough);
  const out = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-6; at += step) out.push(Math.abs(at) < step * 1e-6 ? 0 : at);
  return out;
}

/** Cuts text to a width. */
export function fit(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let cut = text;
  while (cut.length > 1 && context.measureText(`${cut}…`).width > width) cut = cut.slice(0, -1);
  return cut.length > 1 ? `${cut}…` : "";
}

/** Cuts a rank's name to a width: with its host, else the number alone. */
export function fitName(context, name, width, { bold = false } = {}) {
  context.font = bold ? `600 ${FONT}` : FONT;
  if (context.measureText(name).width <= width) return name;
  return fit(context, name.split("  ")[0], width);
}

/** Draws text in the page's colours. */
export function write(context, text, x, y, { align = "left", base = "middle", colour = token("muted"), bold = false } = {}) {
  context.font = bold ? `600 ${FONT}` : FONT;
  context.textAlign = align;
  context.textBaseline = base;
  context.fillStyle = colour;
  context.fillText(text, x, y);
}

/** Draws a hatched band from x0 to x1 with a label at the top, for unknown times; within [left, left + wide]. */
export function band(context, text, [x0, x1], { left, wide, top, tall, named = true }) {
  const begin = Math.max(left, x0);
  const end = Math.min(left + wide, Math.max(x1, x0 + 3));
  if (end <= begin) return;
  context.save();
  context.beginPath();
  context.rect(begin, top, end - begin, tall);
  context.clip();
  context.fillStyle = token("surface");
  context.globalAlpha = 0.7;
  context.fillRect(begin, top, end - begin, tall);
  context.globalAlpha = 1;
  context.strokeStyle = token("muted");
  context.lineWidth = 1;
  context.beginPath();
  for (let at = begin - tall; at < end; at += 7) {
    context.moveTo(at, top + tall);
    context.lineTo(at + tall, top);
  }
  context.stroke();
  context.restore();
  if (!named) return;
  context.font = `600 ${FONT}`;
  const width = context.measureText(text).width + 8;
  const x = Math.max(left, Math.min(begin, left + wide - width));
  context.fillStyle = token("surface");
  context.fillRect(x, top, width, 15);
  write(context, text, x + 4, top + 8, { colour: token("text"), bold: true });
}

/**
 * Handles drags and clicks on a canvas: `moved(x, y)`, `left()`, `dragged(x0, x1, done)`, `clicked(x, y)`. A touch scrolls the page.
 * Returns a function that calls `moved` again at the pointer's position if it is over the canvas, because the content may be new.
 */
export function pointer(canvas, { moved, left, dragged, clicked }) {
  let from = null;
  let far = false;
  let over = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button || event.pointerType === "touch") return;
    from = place(event, canvas);
    far = false;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    over = place(event, canvas);
    if (from && dragged && Math.abs(over[0] - from[0]) > 4) far = true;
    if (from && far) dragged(from[0], over[0], false);
    moved?.(...over);
  });
  canvas.addEventListener("pointerup", (event) => {
    const at = place(event, canvas);
    if (from && far) dragged(from[0], at[0], true);
    from = null;
  });
  canvas.addEventListener("click", (event) => {
    if (!far) clicked?.(...place(event, canvas));
    far = false;
  });
  canvas.addEventListener("pointerleave", () => {
    over = null;
    left?.();
  });
  return () => {
    if (over) moved?.(...over);
  };
}
