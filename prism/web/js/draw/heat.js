// The heat strip: a row per rank, a column per step, the colour is the duration of the step. Blamed ranks are outlined.

import { h } from "../dom.js";
import { count, duration } from "../format.js";
import { SIGNS, ramp, token } from "../palette.js";
import { part, redraw } from "../patch.js";
import { MARGIN, band, fitName, gutter, pointer, surface, themed, ticks, tip, write } from "./canvas.js";

const TOP = 4;
const AXIS = 20;
const LOW = 0.9; // share of the usual time at the coldest colour

/**
 * The heat of steps.
 *
 * data: {ranks, steps, value} of the API (`ranks` are numbers, or [first, last] where binned; `value` ms, null where none).
 * options: label(rank), usual (ms, the colour's low end), outlined [{ranks: Set, steps: [first, last], severity, text}], gaps [{text, from, to}],
 * selected [first, last] steps, range [first, last] steps shown, onselect(first, last), onrank(rank).
 */
export const heatStrip = (data, options = {}) => part({ class: "drawing" }, mountHeat, { data, ...options });

function mountHeat(root, first) {
  let now = known(first);
  let { selected } = first;
  const view = surface(root);
  const hint = tip(root);
  const foot = h("div", {});
  root.append(foot);
  const at = (x, y) => {
    const { left, wide, tall } = geometry(view.width(), now.rows);
    const column = Math.floor(((x - left) / wide) * now.columns.length);
    const row = Math.floor(((y - TOP) / tall) * now.rows);
    return [row >= 0 && row < now.rows ? row : null, Math.max(0, Math.min(now.columns.length - 1, column)), x >= left];
  };
  const say = (rank) => root.dispatchEvent(new CustomEvent("rank", { bubbles: true, detail: rank }));
  const again = pointer(view.canvas, {
    moved(x, y) {
      const [row, column, inside] = at(x, y);
      if (row === null || !inside) return hint.hide();
      hint.show(x, y, cellLines(now, row, now.columns[column]));
      return say(firstOf(now.data.ranks[row]));
    },
    left() {
      hint.hide();
      say(null);
    },
    dragged(x0, x1, done) {
      if (!now.onselect) return;
      const [a, b] = [at(x0, 0)[1], at(x1, 0)[1]].sort((one, other) => one - other);
      selected = [now.data.steps[now.columns[a]][0], now.data.steps[now.columns[b]][1]];
      view.repaint();
      if (done) now.onselect(...selected);
    },
    clicked(x, y) {
      const [row, column, inside] = at(x, y);
      if (!inside && row !== null) now.onrank?.(firstOf(now.data.ranks[row]));
      else if (now.onselect && row !== null) now.onselect(...now.data.steps[now.columns[column]], firstOf(now.data.ranks[row]));
    },
  });
  const update = (props) => {
    now = known(props);
    selected = props.selected;
    view.show({
      height: TOP + body(now.rows) + AXIS,
      label: `Step times of ${count(rankCount(now.data.ranks))} ranks over ${count(now.columns.length)} columns of steps. ${now.outlined.map((one) => one.text).join(". ")}`,
      paint: (context, width) => paint(context, { ...now, ...geometry(width, now.rows), selected }),
    });
    redraw(foot, key(now.high));
    again();
  };
  update(first);
  return { update };
}

/** Derives what a drawing needs from its props. */
function known({ data, label = String, outlined = [], gaps = [], range, usual, onselect, onrank }) {
  return { data, label, outlined, gaps, onselect, onrank, columns: columnsOf(data, range), rows: data.value.length, high: scale(data.value, usual) };
}

function geometry(width, rows) {
  const left = gutter(width);
  return { left, wide: width - left - MARGIN, tall: body(rows) };
}

function paint(context, now) {
  const { data, columns, label, outlined, gaps, selected, left, wide, tall } = now;
  context.imageSmoothingEnabled = false;
  context.drawImage(image(data.value, columns, now.high), left, TOP, wide, tall);
  const size = wide / columns.length;
  columns.forEach((column, place) => {
    const unseen = gapAt(gaps, data.steps[column]);
    if (unseen) band(context, unseen.text, [left + place * size, left + (place + 1) * size], { left, wide, top: TOP, tall, named: false });
  });
  labels(context, data.ranks, label, { left, tall, outlined });
  axis(context, data.steps, columns, left, wide, TOP + tall);
  if (selected) select(context, selected, { data, columns, left, wide, tall });
  for (const one of outlined) outline(context, one, { data, columns, left, wide, tall });
}

function cellLines({ data, label, gaps }, row, column) {
  const [first, last] = data.steps[column];
  const value = data.value[row][column];
  return [
    nameOf(data.ranks[row], label),
    first === last ? `step ${first}` : `steps ${first} to ${last}, the longest`,
    value === null ? (gapAt(gaps, [first, last])?.text ?? "no step seen") : duration(value),
  ];
}

/** Finds the collection gap that covers all steps of a column. */
const gapAt = (gaps, [first, last]) => gaps.find((one) => first >= one.from && last <= one.to);
const body = (rows) => (rows <= 4 ? rows * 24 : rows <= 24 ? rows * 16 : rows <= 80 ? rows * 6 : Math.min(420, Math.max(240, rows * 2)));
const firstOf = (rank) => (Array.isArray(rank) ? rank[0] : rank);
const lastOf = (rank) => (Array.isArray(rank) ? rank[1] : rank);
const rankCount = (ranks) => (ranks.length ? lastOf(ranks.at(-1)) - firstOf(ranks[0]) + 1 : 0);
const nameOf = (rank, label) => (firstOf(rank) === lastOf(rank) ? label(firstOf(rank)) : `ranks ${firstOf(rank)} to ${lastOf(rank)}`);

/** Lists the visible columns of a strip. */
export function columnsOf(data, range) {
  const all = data.steps.map((_, place) => place);
  if (!range) return all;
  const some = all.filter((place) => data.steps[place][1] >= range[0] && data.steps[place][0] <= range[1]);
  return some.length ? some : all;
}

/** Limits of the colours, ms: from a little below the usual time (independent of faults) to the longest without outliers. */
function scale(value, usual) {
  const all = Float64Array.from(value.flat().filter((one) => one !== null)).sort();
  if (!all.length) return { low: 0, high: 1, usual: null };
  const low = usual ? usual * LOW : all[Math.floor(all.length * 0.02)];
  const high = Math.max(all[Math.floor((all.length - 1) * 0.995)], (usual || low) * 1.25, low + 1e-6);
  return { low, high, usual };
}

function image(value, columns, { low, high }) {
  const canvas = document.createElement("canvas");
  canvas.width = Math.max(1, columns.length);
  canvas.height = Math.max(1, value.length);
  const context = canvas.getContext("2d");
  const pixels = context.createImageData(canvas.width, canvas.height);
  const colours = ramp("heat");
  value.forEach((row, y) => {
    columns.forEach((column, x) => {
      const one = row[column];
      if (one === null || one === undefined) return;
      const [r, g, b] = colours[Math.max(0, Math.min(255, Math.round(((one - low) / (high - low)) * 255)))];
      pixels.data.set([r, g, b, 255], (y * canvas.width + x) * 4);
    });
  });
  context.putImageData(pixels, 0, 0);
  return canvas;
}

function labels(context, ranks, label, { left, tall, outlined }) {
  const size = tall / ranks.length;
  const every = Math.max(1, Math.ceil(13 / size));
  for (let row = 0; row < ranks.length; row += every) {
    const name = size < 11 && every > 1 ? `rank ${firstOf(ranks[row])}` : nameOf(ranks[row], label);
    const blamed = outlined.find((one) => touches(ranks[row], one.ranks))?.severity;
    const text = fitName(context, `${blamed ? `${SIGNS[blamed]} ` : ""}${name}`, left - 10, { bold: Boolean(blamed) });
    const y = TOP + (every > 1 ? row * size + 6 : (row + 0.5) * size);
    if (row && y + 6 > TOP + tall + 1) break; // the axis is there
    write(context, text, left - 6, y, { align: "right", bold: Boolean(blamed), colour: token(blamed ?? "muted") });
  }
}

/** Draws the step numbers below a strip. */
export function axis(context, steps, columns, left, wide, top) {
  const size = wide / columns.length;
  for (const at of ticks(0, columns.length - 1, Math.max(2, wide / 70)).filter(Number.isInteger)) {
    write(context, `${steps[columns[at]][0]}`, left + (at + 0.5) * size, top + 11, { align: "center" });
  }
  write(context, "step", left - 6, top + 11, { align: "right" });
}

/** Returns the x range of steps in a strip; null if they are outside. */
export function box(steps, { data, columns, left, wide }) {
  const size = wide / columns.length;
  const inside = columns.map((column, x) => [data.steps[column], x]).filter(([[a, b]]) => b >= steps[0] && a <= steps[1]);
  return inside.length ? [left + inside[0][1] * size, left + (inside.at(-1)[1] + 1) * size] : null;
}

function select(context, steps, room) {
  const found = box(steps, room);
  if (!found) return;
  context.fillStyle = token("accent");
  context.fillRect(found[0], TOP + room.tall + 1, found[1] - found[0], 3);
  for (const x of found) context.fillRect(x - 0.5, 0, 1, room.tall + TOP + 4);
}

/** Draws a frame around the blamed ranks in the steps of the finding, with a flag that names it. */
function outline(context, one, place) {
  const found = box(one.steps, place);
  if (!found) return;
  const size = place.tall / place.data.ranks.length;
  const hit = place.data.ranks.map((rank, row) => [rank, row]).filter(([rank]) => touches(rank, one.ranks)).map(([, row]) => row);
  for (const [first, last] of runs(hit)) {
    const high = (last - first + 1) * size;
    const room = high < 10 ? 3 : 0; // keeps the line off the cells it marks
    const [x, y, w, t] = [found[0], TOP + first * size - room, found[1] - found[0], high + 2 * room];
    context.lineWidth = 4;
    context.strokeStyle = token("surface");
    context.strokeRect(x, y, w, t);
    context.lineWidth = 2;
    context.strokeStyle = token(one.severity);
    context.strokeRect(x, y, w, t);
  }
  if (hit.length) flag(context, `${SIGNS[one.severity]} ${one.text}`, found, TOP + hit[0] * size - 2, one.severity, place);
}

/** Draws a label above its range. */
export function flag(context, text, [x0, x1], y, severity, { left, wide }) {
  context.font = `600 11px system-ui, sans-serif`;
  const width = context.measureText(text).width + 10;
  const x = Math.max(left, Math.min(x0 + 4, left + wide - width, x1 - width - 4 > x0 ? x0 + 4 : x0));
  const top = y - 17 >= TOP ? y - 17 : y + 3;
  context.fillStyle = token(severity);
  context.fillRect(x, top, width, 15);
  write(context, text, x + 5, top + 8, { colour: token("surface"), bold: true });
}

function touches(rank, ranks) {
  for (const one of ranks) if (one >= firstOf(rank) && one <= lastOf(rank)) return true;
  return false;
}

/** Groups consecutive rows as [first, last]. */
function runs(rows) {
  const out = [];
  for (const row of rows) {
    if (out.length && row === out.at(-1)[1] + 1) out.at(-1)[1] = row;
    else out.push([row, row]);
  }
  return out;
}

function key({ low, high, usual }) {
  const bar = h("canvas", { class: "ramp", width: 96, height: 1, "aria-hidden": "true" });
  const paint = () => {
    const context = bar.getContext("2d");
    ramp("heat").forEach(([r, g, b], at) => {
      context.fillStyle = `rgb(${r} ${g} ${b})`;
      context.fillRect((at / 255) * 95, 0, 1.5, 1);
    });
  };
  paint();
  themed(bar, paint);
  return h("p", { class: "key" }, duration(low), bar, duration(high), usual ? h("span", {}, ` usual ${duration(usual)}`) : null, h("span", { class: "hint" }, " Drag to choose steps, click a rank to see it below."));
}
