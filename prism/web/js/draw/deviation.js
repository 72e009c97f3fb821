// The deviation strip: a row per rank sorted by deviation, the culprit's group on top; a column per step; the colour is the increase over
// the usual time. Ranks with the largest deviations have their own row, the others of their group share one.

import { h } from "../dom.js";
import { count, duration } from "../format.js";
import { SIGNS, ramp, token } from "../palette.js";
import { part, redraw } from "../patch.js";
import { MARGIN, band, fitName, gutter, pointer, surface, themed, tip, write } from "./canvas.js";
import { axis, box, columnsOf, flag } from "./heat.js";

const TOP = 4;
const AXIS = 20;
const HEAD = 18; // room for a flag

/**
 * The strip.
 *
 * data: {rows, steps, value} of the API. options: label(row), blamed Set of ranks with `severity`, `claim` {steps: [first, last], text},
 * gaps [{text, from, to}], selected [first, last] steps, onselect(first, last, rank), onrank(rank).
 */
export const deviationStrip = (data, options = {}) => part({ class: "drawing" }, mountDeviation, { data, ...options });

function mountDeviation(root, first) {
  let now = known(first);
  let { selected } = first;
  const view = surface(root);
  const hint = tip(root);
  const foot = h("div", {});
  root.append(foot);
  const at = (x, y) => {
    const left = gutter(view.width());
    const column = Math.floor(((x - left) / (view.width() - left - MARGIN)) * now.columns.length);
    const lane = now.lanes.find(({ top }) => y >= top && y < top + now.size) ?? null;
    return [lane, Math.max(0, Math.min(now.columns.length - 1, column)), x >= left];
  };
  const again = pointer(view.canvas, {
    moved(x, y) {
      const [lane, column, inside] = at(x, y);
      if (!lane || !inside || !now.columns.length) return hint.hide();
      hint.show(x, y, cellLines(now, lane, now.columns[column]));
      return root.dispatchEvent(new CustomEvent("rank", { bubbles: true, detail: lane.row.rank }));
    },
    left() {
      hint.hide();
      root.dispatchEvent(new CustomEvent("rank", { bubbles: true, detail: null }));
    },
    dragged(x0, x1, done) {
      if (!now.onselect) return;
      const [a, b] = [at(x0, 0)[1], at(x1, 0)[1]].sort((one, other) => one - other);
      selected = [now.data.steps[now.columns[a]][0], now.data.steps[now.columns[b]][1]];
      view.repaint();
      if (done) now.onselect(...selected);
    },
    clicked(x, y) {
      const [lane, column, inside] = at(x, y);
      if (!lane) return;
      const rank = lane.row.rank ?? undefined;
      if (!inside) now.onrank?.(rank);
      else now.onselect?.(...now.data.steps[now.columns[column]], rank);
    },
  });
  const update = (props) => {
    now = known(props);
    selected = props.selected;
    const alone = now.data.rows.filter((row) => row.rank !== null).length;
    const ranks = now.data.rows.reduce((sum, row) => sum + row.ranks, 0);
    view.show({
      height: now.height + AXIS,
      label: `Deviations of ${count(ranks)} ranks from usual over ${count(now.columns.length)} columns of steps; ${count(alone)} ranks have a row each, those that deviate most first. ${now.claim?.text ?? ""}`,
      paint: (context, width) => paint(context, { ...now, left: gutter(width), wide: width - gutter(width) - MARGIN, selected }),
    });
    redraw(foot, key(now));
    again();
  };
  update(first);
  return { update };
}

/** Derives what a drawing needs from its props. */
function known({ data, label = (row) => `rank ${row.rank}`, blamed = new Set(), severity = "warning", claim = null, gaps = [], range, onselect, onrank }) {
  const size = data.rows.length <= 16 ? 17 : data.rows.length <= 48 ? 14 : 12;
  const headed = new Set(data.rows.map(groupOf)).size > 1;
  let [top, group] = [headed ? TOP : TOP + HEAD, null];
  const lanes = data.rows.map((row, place) => {
    const head = headed && groupOf(row) !== group ? headOf(row) : null;
    group = groupOf(row);
    if (head !== null) top += HEAD;
    const lane = { row, place, top, head };
    top += size;
    return lane;
  });
  return { data, label, blamed, severity, claim, gaps, onselect, onrank, size, lanes, height: top, columns: columnsOf(data, range), high: scale(data) };
}

const groupOf = (row) => `${row.stage} ${row.group}`;

function headOf({ stage, group }) {
  const parts = [stage === null ? null : `stage ${stage}`, group === null ? null : `DP group ${group}`].filter(Boolean);
  return parts.join(", ") || "other ranks";
}

/** Name of a row: of a rank, or the number of its ranks. */
const nameOf = ({ row }, label, lanes) => (row.rank !== null ? label(row) : `${lanes.some((one) => one.row.rank !== null && groupOf(one.row) === groupOf(row)) ? "the other " : ""}${count(row.ranks)} ranks`);

/** Limits of the colours: the largest deviations without outliers, at least a twentieth of the usual time. */
function scale({ value, usual_ms: usual }) {
  const all = Float64Array.from(value.flat().filter((one) => one !== null).map(Math.abs)).sort();
  return Math.max(all.length ? all[Math.floor((all.length - 1) * 0.99)] : 0, (usual ?? 0) * 0.05, 1e-6);
}

function paint(context, now) {
  const { data, lanes, columns, size, left, wide, gaps, label, blamed, severity, claim, selected, high, height } = now;
  const colours = ramp("deviation");
  const cell = wide / Math.max(1, columns.length);
  for (const lane of lanes) {
    const { row, place, top, head } = lane;
    if (head !== null) write(context, head, left, top - HEAD / 2, { colour: token("text"), bold: true });
    columns.forEach((column, x) => {
      const one = data.value[place][column];
      if (one === null || one === undefined) return;
      const [r, g, b] = colours[Math.max(0, Math.min(255, Math.round(127.5 + (one / high) * 127.5)))];
      context.fillStyle = `rgb(${r} ${g} ${b})`;
      context.fillRect(left + x * cell, top, Math.max(cell + 0.3, 0.5), size - 1);
    });
    const hit = blamed.has(row.rank);
    const name = fitName(context, `${hit ? `${SIGNS[severity]} ` : ""}${nameOf(lane, label, lanes)}`, left - 10, { bold: hit });
    write(context, name, left - 6, top + size / 2, { align: "right", bold: hit, colour: token(hit ? severity : "muted") });
  }
  columns.forEach((column, x) => {
    const unseen = gaps.find((one) => data.steps[column][0] >= one.from && data.steps[column][1] <= one.to);
    if (unseen) band(context, unseen.text, [left + x * cell, left + (x + 1) * cell], { left, wide, top: TOP, tall: height - TOP, named: false });
  });
  if (columns.length) axis(context, data.steps, columns, left, wide, height);
  const room = { data, columns, left, wide };
  if (selected) choose(context, box(selected, room), height);
  if (claim) frame(context, box(claim.steps, room), now);
}

/** Draws lines around the selected steps. */
function choose(context, found, height) {
  if (!found) return;
  context.fillStyle = token("accent");
  context.fillRect(found[0], height + 1, found[1] - found[0], 3);
  for (const x of found) context.fillRect(x - 0.5, 0, 1, height + 4);
}

/** Draws a frame around the culprits in the steps of the finding. */
function frame(context, found, { lanes, blamed, severity, claim, size, left, wide }) {
  const hit = lanes.filter((lane) => blamed.has(lane.row.rank));
  if (!found || !hit.length) return;
  for (const { top } of hit) {
    context.lineWidth = 2;
    context.strokeStyle = token(severity);
    context.strokeRect(found[0], top - 1, found[1] - found[0], size + 1);
  }
  flag(context, `${SIGNS[severity]} ${claim.text}`, found, hit[0].top - 1, severity, { left, wide });
}

function cellLines({ data, label, gaps, lanes }, lane, column) {
  const [first, last] = data.steps[column];
  const value = data.value[lane.place][column];
  const many = lane.row.ranks > 1 ? ", the median of them" : "";
  return [
    nameOf(lane, label, lanes),
    headOf(lane.row),
    first === last ? `step ${first}` : `steps ${first} to ${last}, what deviates most`,
    value === null ? (gaps.find((one) => first >= one.from && last <= one.to)?.text ?? "no step seen") : `${signed(value)} against usual${many}`,
  ];
}

const signed = (ms) => `${ms < 0 ? "−" : "+"}${duration(Math.abs(ms))}`;

function key({ high, data }) {
  const bar = h("canvas", { class: "ramp", width: 96, height: 1, "aria-hidden": "true" });
  const paintBar = () => {
    const context = bar.getContext("2d");
    ramp("deviation").forEach(([r, g, b], at) => {
      context.fillStyle = `rgb(${r} ${g} ${b})`;
      context.fillRect((at / 255) * 95, 0, 1.5, 1);
    });
  };
  paintBar();
  themed(bar, paintBar);
  const base = data.own_past ? "each rank's own past" : "its stage";
  return h("p", { class: "key" }, signed(-high), bar, signed(high), h("span", {}, ` against ${base}`), h("span", { class: "hint" }, " Drag to choose steps, click a rank to see it below."));
}
