// Timeline of every rank: rows by stage, group and rank; spans coloured and named by phase. Zoom by wheel with Ctrl or by keys.

import { h } from "../dom.js";
import { duration } from "../format.js";
import { PHASE_ORDER, SIGNS, phase, token } from "../palette.js";
import { part, redraw } from "../patch.js";
import { MARGIN, band, fitName, gutter, place, pointer, surface, ticks, tip, write } from "./canvas.js";
import { legend } from "./spark.js";

/** Height of the axis above the lanes. */
export const AXIS = 34;
const HEAD = 16;

/**
 * A timeline.
 *
 * data: {zero_ns, level, phases, rows: [{rank, endpoint, stage, group}], spans: {row, start_ms, end_ms, phase, peer}} of the API.
 * options: view [from, to] ms, label(row), blamed Map(rank -> severity), marks [{ms, text}], gaps [{from, to, text}] ms, bounds [from, to] ms,
 * onview(from, to) once the view stays. Methods: zoom(factor), pan(share).
 */
export const timeline = (data, options = {}) =>
  part({ class: "drawing timeline", tabindex: 0, role: "group", "aria-label": "Timeline; plus and minus zoom, arrows move" }, mountTimeline, { data, ...options });

function mountTimeline(root, first) {
  let now = known(first);
  let view = first.view ?? now.whole;
  const over = surface(root);
  const hint = tip(root);
  const foot = h("div", {});
  root.append(foot);
  const again = pointer(over.canvas, {
    moved(px, py) {
      const left = gutter(over.width());
      const ms = view[0] + ((px - left) / (over.width() - left - MARGIN)) * (view[1] - view[0]);
      const found = now.lanes.find(({ top }) => py >= top && py < top + now.size);
      if (!found) return hint.hide();
      const unseen = now.gaps.filter((one) => ms >= one.from && ms <= one.to).map((one) => one.text);
      return hint.show(px, py, [...told(now.data, now.order[found.row.place], found.row, ms, now.label), ...unseen]);
    },
    left: () => hint.hide(),
  });
  const moved = mover({ get: () => view, set: (next) => { view = next; over.repaint(); }, whole: () => now.whole, onview: (...to) => now.onview?.(...to) });
  moved.listen(root, over.canvas, over.width);
  const update = (props) => {
    const shift = Number(BigInt(now.data.zero_ns) - BigInt(props.data.zero_ns)) / 1e6;
    now = known(props);
    view = moved.busy() ? view.map((ms) => ms + shift) : (props.view ?? now.whole);
    over.show({
      height: now.height,
      label: `Timeline of ${now.rows.length} ranks over ${duration(now.whole[1] - now.whole[0])}. ${now.gaps.map((one) => one.text).join(". ")}`,
      paint: (context, width) => paint(context, width, view, now),
    });
    const { phases, spans: all } = props.data;
    const used = PHASE_ORDER.filter((word) => phases.includes(word) && all.phase.includes(phases.indexOf(word)));
    redraw(foot, legend(used.map((word) => [word, null])));
    again();
  };
  update(first);
  return { update, zoom: moved.zoom, pan: moved.pan };
}

/** Derives what a drawing needs from its props. */
function known({ data, label = (row) => `rank ${row.rank}`, blamed = new Map(), marks = [], gaps = [], bounds, onview }) {
  const rows = arranged(data.rows);
  const size = rows.length <= 16 ? 20 : rows.length <= 48 ? 15 : 11;
  const stages = new Set(rows.map((row) => row.stage)).size;
  const heads = stages > 1 ? stages : 0;
  const height = AXIS + rows.length * size + heads * HEAD + 4;
  const [order, lanes] = [byRow(data.spans, data.rows.length), laneTops(rows, size, heads > 0)];
  return { data, rows, size, height, order, lanes, whole: bounds ?? extent(data.spans), label, blamed, marks, gaps, onview };
}

function paint(context, width, view, { data, size, height, order, lanes, blamed, label, marks, gaps }) {
  const left = gutter(width);
  const wide = width - left - MARGIN;
  const x = (ms) => left + ((ms - view[0]) / (view[1] - view[0])) * wide;
  axis(context, view, left, wide, height);
  const hatch = hatching(context);
  lanes.forEach(({ row, top, head }) => {
    if (head !== null) write(context, head, left, top - HEAD / 2, { colour: token("text"), bold: true });
    lane(context, row, { top, size, left, wide, blamed, label });
    spans(context, data, order[row.place], { top, size, left, wide, x, view, hatch, named: size > 16 || blamed.has(row.rank) });
  });
  for (const one of gaps) band(context, one.text, [x(one.from), x(one.to)], { left, wide, top: AXIS, tall: height - AXIS });
  for (const mark of marks) line(context, mark, { x, left, wide, height });
}

/** Sorts rows by stage, group and rank; `place` is their index in the data. */
function arranged(rows) {
  const known = rows.map((row, place) => ({ ...row, place, stage: row.stage ?? null }));
  return known.sort((a, b) => (a.stage ?? -1) - (b.stage ?? -1) || (a.group ?? -1) - (b.group ?? -1) || a.rank - b.rank);
}

function laneTops(rows, size, headed) {
  let top = AXIS;
  let stage;
  return rows.map((row) => {
    const head = headed && row.stage !== stage ? (row.stage === null ? "stage not known" : `stage ${row.stage}`) : null;
    stage = row.stage;
    if (head !== null) top += HEAD;
    const here = { row, top, head };
    top += size;
    return here;
  });
}

function extent({ start_ms: start, end_ms: end }) {
  let [low, high] = [Infinity, -Infinity];
  for (const ms of start) low = Math.min(low, ms);
  for (const ms of end) high = Math.max(high, ms);
  return high > low ? [low, high] : [0, 1];
}

/** Lists the spans of each row; work first, so that traffic is drawn on top, in order of start. */
function byRow({ row, start_ms: start }, rows) {
  const order = Array.from({ length: rows }, () => []);
  row.forEach((one, at) => order[one]?.push(at));
  for (const list of order) list.sort((a, b) => start[a] - start[b]);
  return order;
}

/** Draws the times above the lanes. */
export function axis(context, [from, to], left, wide, height) {
  for (const ms of ticks(from, to, Math.max(2, wide / 110))) {
    const x = left + ((ms - from) / (to - from)) * wide;
    context.fillStyle = token("line");
    context.fillRect(Math.round(x), AXIS - 2, 1, height);
    write(context, ms === 0 ? "0" : `${ms < 0 ? "−" : "+"}${duration(Math.abs(ms))}`, Math.min(x, left + wide - 20), 8, { align: "center" });
  }
}

function lane(context, row, { top, size, left, wide, blamed, label }) {
  const severity = blamed.get(row.rank);
  context.fillStyle = token("lane");
  context.fillRect(left, top + 1, wide, size - 2);
  const name = fitName(context, `${severity ? `${SIGNS[severity]} ` : ""}${label(row)}`, left - 10, { bold: Boolean(severity) });
  write(context, name, left - 6, top + size / 2, { align: "right", colour: token(severity ?? "muted"), bold: Boolean(severity) });
}

function spans(context, data, places, { top, size, left, wide, x, view, hatch, named }) {
  const { start_ms: start, end_ms: end, phase: phases } = data.spans;
  const styles = data.phases.map(phase);
  context.save();
  context.beginPath();
  context.rect(left, top, wide, size);
  context.clip();
  for (const at of places) {
    if (end[at] < view[0] || start[at] > view[1]) continue;
    const style = styles[phases[at]] ?? phase("step");
    const [a, b] = [x(start[at]), x(end[at])];
    const width = Math.max(0.75, b - a - (b - a > 4 ? 0.5 : 0));
    context.fillStyle = style.hatched ? hatch : style.colour;
    context.fillRect(a, top + 1.5, width, size - 3);
    const begin = Math.max(a, left);
    if (named && Math.min(b, left + wide) - begin > context.measureText(style.label).width + 8) {
      write(context, style.label, begin + 4, top + size / 2 + 0.5, { colour: style.ink });
    }
  }
  context.restore();
}

/** Pattern of waiting. */
export function hatching(context) {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 6;
  const inside = tile.getContext("2d");
  inside.fillStyle = phase("idle").colour;
  inside.fillRect(0, 0, 6, 6);
  inside.strokeStyle = token("hatch");
  inside.lineWidth = 1;
  for (const shift of [-6, 0, 6]) {
    inside.beginPath();
    inside.moveTo(shift, 6);
    inside.lineTo(shift + 6, 0);
    inside.stroke();
  }
  return context.createPattern(tile, "repeat");
}

/** Draws a mark with its text across all lanes. */
export function line(context, { ms, text, severity }, { x, left, wide, height }) {
  const at = x(ms);
  if (at < left || at > left + wide) return;
  context.fillStyle = token(severity ?? "text");
  context.fillRect(at, AXIS - 18, 1.5, height);
  write(context, text, Math.min(at + 5, left + wide - context.measureText(text).width), AXIS - 12, { colour: token(severity ?? "text"), bold: true });
}

function told(data, places, row, ms, label) {
  const { start_ms: start, end_ms: end, phase: phases, peer } = data.spans;
  const here = places.filter((at) => start[at] <= ms && end[at] >= ms);
  const lines = here.slice(0, 4).map((at) => {
    const to = peer?.[at] >= 0 ? ` with rank ${peer[at]}` : "";
    return `${phase(data.phases[phases[at]] ?? "step").label} ${duration(end[at] - start[at])}${to}, from +${duration(start[at])}`;
  });
  return [`${label(row)}${row.stage === null ? "" : `, stage ${row.stage}`}`, ...(lines.length ? lines : ["nothing seen"])];
}

/** Zooms and pans a view by wheel with Ctrl, drag and keys; calls `onview` once the view rests. */
export function mover({ get, set, whole, onview }) {
  let timer = null;
  let from = null;
  const rest = () => {
    timer = null;
    onview(...get());
  };
  const go = (low, high) => {
    const [least, most] = whole();
    const span = Math.max((most - least) / 20_000, Math.min(high - low, most - least));
    const begin = Math.max(least, Math.min((low + high - span) / 2, most - span));
    set([begin, begin + span]);
    clearTimeout(timer);
    timer = setTimeout(rest, 250);
  };
  const zoom = (factor, centre = (get()[0] + get()[1]) / 2) => {
    const [low, high] = get();
    go(centre - (centre - low) * factor, centre + (high - centre) * factor);
  };
  const pan = (share) => {
    const [low, high] = get();
    go(low + (high - low) * share, high + (high - low) * share);
  };
  const keys = { "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), ArrowLeft: () => pan(-0.25), ArrowRight: () => pan(0.25), 0: () => go(...whole()) };
  const listen = (root, canvas, width) => {
    root.addEventListener("keydown", (event) => {
      if (!keys[event.key] || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      event.stopPropagation();
      keys[event.key]();
    });
    canvas.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.shiftKey) return;
      event.preventDefault();
      const left = gutter(width());
      const [low, high] = get();
      const ms = low + ((place(event, canvas)[0] - left) / (width() - left - MARGIN)) * (high - low);
      if (event.ctrlKey) zoom(event.deltaY > 0 ? 1.25 : 0.8, ms);
      else pan((event.deltaY || event.deltaX) / 600);
    }, { passive: false });
    canvas.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch") return;
      from = { px: event.clientX, view: get() };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (!from) return;
      const shift = ((from.px - event.clientX) / (width() - gutter(width()) - MARGIN)) * (from.view[1] - from.view[0]);
      if (Math.abs(from.px - event.clientX) > 2) go(from.view[0] + shift, from.view[1] + shift);
    });
    canvas.addEventListener("pointerup", () => { from = null; });
  };
  return { zoom, pan, listen, busy: () => from !== null || timer !== null };
}
