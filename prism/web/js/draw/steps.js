// Duration of each step of a job, with the usual time, events, and the ranges of findings.

import { count, duration } from "../format.js";
import { SIGNS, token } from "../palette.js";
import { part } from "../patch.js";
import { MARGIN, band, gutter, pointer, surface, ticks, tip, write } from "./canvas.js";

const TOP = 22;
const FOOT = 6;
const HEIGHT = 148;

/**
 * Step durations as bars.
 *
 * data: {start_ms, duration_ms, first} (first: number of the first step). options: usual (ms, of the time before a finding), events [{kind, from, to}],
 * findings [{severity, text, from, to}] and gaps in collection [{text, from, to}] in steps, range [first, last] shown, selected, onselect(first, last).
 */
export const stepBars = (data, options = {}) => part({ class: "drawing", ...(options.onselect ? { tabindex: 0, role: "group", "aria-label": "Steps; arrows choose one, with Shift more" } : {}) }, mountSteps, { data, ...options });

function mountSteps(root, given) {
  let now = known(given);
  let { selected } = given;
  const view = surface(root);
  const hint = tip(root);
  const at = (px) => {
    const { left, size } = room(view.width(), now);
    return Math.max(0, Math.min(now.shown.length - 1, Math.floor((px - left) / size)));
  };
  const again = pointer(view.canvas, {
    moved(px, py) {
      const { first, shown, usual, events, gaps } = now;
      const step = first + at(px);
      const here = [...events, ...gaps].filter((one) => step >= one.from && step <= one.to).map((one) => one.kind ?? one.text);
      const seen = Number.isFinite(shown[at(px)]);
      hint.show(px, py, [`step ${step}`, seen ? duration(shown[at(px)]) : "not seen whole", usual && seen ? `${(shown[at(px)] / usual).toFixed(2)} × the usual time` : null, ...here]);
    },
    left: () => hint.hide(),
    dragged(x0, x1, done) {
      if (!now.onselect) return;
      const [a, b] = [at(x0), at(x1)].sort((one, other) => one - other);
      selected = [now.first + a, now.first + b];
      view.repaint();
      if (done) now.onselect(...selected);
    },
    clicked: (px) => now.onselect?.(now.first + at(px), now.first + at(px)),
  });
  root.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || !now.onselect || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const [first, last] = selected ?? [now.first, now.first];
    const inside = (step) => Math.max(now.first, Math.min(now.first + now.shown.length - 1, step));
    selected = event.shiftKey ? [first, Math.max(first, inside(last + by))] : [inside((by < 0 ? first : last) + by), inside((by < 0 ? first : last) + by)];
    view.repaint();
    now.onselect(...selected);
  });
  const update = (props) => {
    now = known(props);
    selected = props.selected;
    const { shown, top, findings, gaps } = now;
    const label = `Durations of ${count(shown.length)} steps, ${duration(Math.min(...shown.filter(Number.isFinite)))} to ${duration(top / 1.08)}. ${[...findings, ...gaps].map((one) => one.text).join(". ")}`;
    view.show({ height: HEIGHT, label, paint: (context, width) => paint(context, now, room(width, now), selected) });
    again();
  };
  update(given);
  return { update };
}

/** Derives what a drawing needs from its props: `first` is the number of the first visible step, `top` the scale's end in ms. */
function known({ data, usual, events = [], findings = [], gaps = [], range, onselect }) {
  const begin = data.first ?? 0;
  const [from, to] = range ?? [begin, begin + data.duration_ms.length - 1];
  const low = Math.max(0, from - begin);
  const shown = data.duration_ms.slice(low, to - begin + 1);
  const top = shown.reduce((most, ms) => (Number.isFinite(ms) ? Math.max(most, ms) : most), usual ?? 0) * 1.08 || 1;
  return { shown, first: begin + low, top, usual, events, findings, gaps, onselect };
}

function room(width, { shown, top }) {
  const left = gutter(width);
  const wide = width - left - MARGIN;
  return { left, wide, size: wide / Math.max(1, shown.length), y: (ms) => HEIGHT - FOOT - (ms / top) * (HEIGHT - TOP - FOOT) };
}

function paint(context, { shown, first, top, usual, events, findings, gaps }, here, selected) {
  const x = (step) => here.left + (step - first) * here.size;
  grid(context, top, here);
  for (const one of findings) stretch(context, one, here, x);
  bars(context, shown, (step) => findings.some((one) => step + first >= one.from && step + first <= one.to), here);
  if (usual) level(context, usual, here);
  for (const one of events) mark(context, one, here, x);
  for (const one of gaps) band(context, one.text, [x(one.from), x(one.to) + here.size], { ...here, top: TOP, tall: HEIGHT - TOP - FOOT });
  if (selected) {
    context.fillStyle = token("accent");
    context.fillRect(x(selected[0]), HEIGHT - 3, (selected[1] - selected[0] + 1) * here.size, 3);
  }
}

function grid(context, top, { left, wide, y }) {
  for (const ms of ticks(0, top, 3)) {
    context.fillStyle = token("line");
    context.fillRect(left, Math.round(y(ms)), wide, 1);
    write(context, duration(ms), left - 6, y(ms), { align: "right" });
  }
}

/** Draws a bar per step if there is room, else the maximum per pixel; bars inside claims are emphasised. */
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
