// A canvas that is as sharp as the screen, painted again when its size or the theme changes, and a tip that follows the pointer.

import { h } from "../dom.js";
import { token } from "../palette.js";

export const FONT = "11px system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";

/** Room for row labels at the left of every drawing, so that drawings above one another share their x axis. */
export const gutter = (width) => (width < 520 ? 62 : 140);
/** Room at the right. */
export const MARGIN = 10;

/**
 * A canvas in `element`. `paint(context, width, height)` in CSS pixels; `height` a number or a function of the width.
 * Returns {canvas, repaint}.
 */
export function surface(element, { height, label, paint, className = "" }) {
  const canvas = h("canvas", { class: className, role: "img", "aria-label": label });
  let width = 0;
  const repaint = () => {
    if (!width || !canvas.isConnected) return;
    const tall = typeof height === "function" ? height(width) : height;
    const ratio = Math.min(3, window.devicePixelRatio || 1);
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(tall * ratio);
    canvas.style.setProperty("height", `${tall}px`);
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    context.font = FONT;
    paint(context, width, tall);
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
  return { canvas, repaint, width: () => width };
}

/** Calls `repaint` when the theme changes, as long as the element is there. */
export function themed(element, repaint) {
  const listen = () => (element.isConnected ? repaint() : document.removeEventListener("themechange", listen));
  document.addEventListener("themechange", listen);
}

/** A tip inside `element` (which is positioned). `show(x, y, lines)`, `hide()`. */
export function tip(element) {
  const box = h("div", { class: "tip", hidden: true });
  element.append(box);
  return {
    show(x, y, lines) {
      box.replaceChildren(...lines.filter(Boolean).map((line, place) => h(place ? "span" : "strong", {}, line)));
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

/** The pointer's place on a canvas. */
export function place(event, canvas) {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

/** Round values for an axis: about `most` of them from low to high. */
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

/** Text that is cut to a width. */
export function fit(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let cut = text;
  while (cut.length > 1 && context.measureText(`${cut}…`).width > width) cut = cut.slice(0, -1);
  return cut.length > 1 ? `${cut}…` : "";
}

/** The name of a rank that is cut to a width: with its host, else the number alone. */
export function fitName(context, name, width, { bold = false } = {}) {
  context.font = bold ? `600 ${FONT}` : FONT;
  if (context.measureText(name).width <= width) return name;
  return fit(context, name.split("  ")[0], width);
}

/** Text with the page's colours. */
export function write(context, text, x, y, { align = "left", base = "middle", colour = token("muted"), bold = false } = {}) {
  context.font = bold ? `600 ${FONT}` : FONT;
  context.textAlign = align;
  context.textBaseline = base;
  context.fillStyle = colour;
  context.fillText(text, x, y);
}

/** Drags and clicks on a canvas: `moved(x, y)`, `left()`, `dragged(x0, x1, done)`, `clicked(x, y)`. A touch scrolls the page. */
export function pointer(canvas, { moved, left, dragged, clicked }) {
  let from = null;
  let far = false;
  canvas.addEventListener("pointerdown", (event) => {
    if (event.button || event.pointerType === "touch") return;
    from = place(event, canvas);
    far = false;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const at = place(event, canvas);
    if (from && dragged && Math.abs(at[0] - from[0]) > 4) far = true;
    if (from && far) dragged(from[0], at[0], false);
    moved?.(...at);
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
  canvas.addEventListener("pointerleave", () => left?.());
}
