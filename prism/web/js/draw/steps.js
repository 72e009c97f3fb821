// How long each step of a job took, one after another, with the usual time, events, and the stretches that findings are about.

import { h } from "../dom.js";
import { count, duration } from "../format.js";
import { SIGNS, token } from "../palette.js";
import { MARGIN, gutter, pointer, surface, ticks, tip, write } from "./canvas.js";

const TOP = 22;
const FOOT = 6;
const HEIGHT = 148;

/**
 * Draws step durations.
 *
 * data: {start_ms, duration_ms, first} (first: number of the first step). options: usual (ms, the median), events [{kind, from, to}] and
 * findings [{severity, text, from, to}] in steps, range [first, last] shown, selected, onselect(first, last).
 */
export function drawSteps(element, data, options = {}) {
  const { usual, events = [], findings = [], onselect } = options;
  const first = data.first ?? 0;
  const total = data.duration_ms.length;
  const range = options.range ?? [first, first + total - 1];
  const low = Math.max(0, range[0] - first);
  const shown = data.duration_ms.slice(low, range[1] - first + 1);
  let selected = options.selected;
  const root = h("div", { class: "drawing" });
  element.append(root);
  const top = Math.max(...shown.filter(Number.isFinite), usual ?? 0) * 1.08 || 1;
  const room = (width) => {
    const left = gutter(width);
    const wide = width - left - MARGIN;
    return { left, wide, size: wide / Math.max(1, shown.length), y: (ms) => HEIGHT - FOOT - (ms / top) * (HEIGHT - TOP - FOOT) };
  };
  const x = (step, { left, size }) => left + (step - first - low) * size;
  const paint = (context, width) => {
    const here = room(width);
    grid(context, top, here);
    for (const one of findings) stretch(context, one, here, (step) => x(step, here));
    bars(context, shown, (step) => findings.some((one) => step + first + low >= one.from && step + first + low <= one.to), here);
    if (usual) level(context, usual, here);
    for (const one of events) mark(context, one, here, (step) => x(step, here));
    if (selected) {
      context.fillStyle = token("accent");
      context.fillRect(x(selected[0], here), HEIGHT - 3, (selected[1] - selected[0] + 1) * here.size, 3);
    }
  };
  const label = `Durations of ${count(shown.length)} steps, ${duration(Math.min(...shown.filter(Number.isFinite)))} to ${duration(top / 1.08)}. ${findings.map((one) => one.text).join(". ")}`;
  const { canvas, repaint, width } = surface(root, { height: HEIGHT, label, paint });
  const hint = tip(root);
  const at = (px) => {
    const { left, size } = room(width());
    return Math.max(0, Math.min(shown.length - 1, Math.floor((px - left) / size)));
  };
  pointer(canvas, {
    moved(px, py) {
      const step = first + low + at(px);
      const here = events.filter((one) => step >= one.from && step <= one.to).map((one) => one.kind);
      hint.show(px, py, [`step ${step}`, duration(shown[at(px)]), usual ? `${(shown[at(px)] / usual).toFixed(2)} × the median` : null, ...here]);
    },
    left: () => hint.hide(),
    dragged(x0, x1, done) {
      if (!onselect) return;
      const [a, b] = [at(x0), at(x1)].sort((one, other) => one - other);
      selected = [first + low + a, first + low + b];
      repaint();
      if (done) onselect(...selected);
    },
    clicked: (px) => onselect?.(first + low + at(px), first + low + at(px)),
  });
  return { select(steps) { selected = steps; repaint(); } };
}

function grid(context, top, { left, wide, y }) {
  for (const ms of ticks(0, top, 3)) {
    context.fillStyle = token("line");
    context.fillRect(left, Math.round(y(ms)), wide, 1);
    write(context, duration(ms), left - 6, y(ms), { align: "right" });
  }
}

/** Bars where there is room for them, else the greatest per pixel; those that a claim is about stand out. */
function bars(context, shown, blamed, { left, wide, size, y }) {
  const colour = token("bar");
  const slow = token("bar-slow");
  const columns = Math.min(shown.length, Math.floor(wide));
  const each = wide / columns;
  for (let column = 0; column < columns; column += 1) {
    const from = Math.floor((column * shown.length) / columns);
    const to = Math.max(from + 1, Math.floor(((column + 1) * shown.length) / columns));
    let most = 0;
    for (let step = from; step < to; step += 1) most = Math.max(most, shown[step] ?? 0);
    context.fillStyle = blamed(from) ? slow : colour;
    const gap = size > 6 ? 2 : size > 3 ? 1 : 0;
    context.fillRect(left + column * each, y(most), Math.max(0.6, each - gap), y(0) - y(most));
  }
}

function level(context, usual, { left, wide, y }) {
  context.strokeStyle = token("text");
  context.setLineDash([4, 4]);
  context.beginPath();
  context.moveTo(left, y(usual));
  context.lineTo(left + wide, y(usual));
  context.stroke();
  context.setLineDash([]);
}

function stretch(context, { severity, text, from, to }, { left, wide, size }, x) {
  const begin = Math.max(left, x(from));
  const end = Math.min(left + wide, x(to) + size);
  if (end <= begin) return;
  context.fillStyle = token(severity);
  context.globalAlpha = 0.09;
  context.fillRect(begin, TOP - 4, end - begin, HEIGHT - TOP - FOOT + 4);
  context.globalAlpha = 1;
  context.fillRect(begin, TOP - 6, end - begin, 2);
  write(context, `${SIGNS[severity]} ${text}`, Math.min(begin, left + wide - 90), TOP - 14, { colour: token(severity), bold: true });
}

function mark(context, { kind, from, to }, { left, wide, size, y }, x) {
  const begin = Math.max(left, x(from));
  const end = Math.min(left + wide, x(to) + size);
  if (end <= left || begin >= left + wide) return;
  context.strokeStyle = token("muted");
  context.strokeRect(begin + 0.5, TOP + 0.5, Math.max(2, end - begin - 1), y(0) - TOP);
  write(context, kind, Math.min(begin + 4, left + wide - 60), TOP + 8, { colour: token("text") });
}
