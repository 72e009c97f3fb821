// Phases of groups of ranks over time: a lane per rank or group, the height of a colour is the share of ranks in that phase. Zoom by wheel
// with Ctrl or by keys, as in the timeline of single bars.

import { count, duration, percent } from "../format.js";
import { PHASE_ORDER, SIGNS, phase, token } from "../palette.js";
import { part, redraw } from "../patch.js";
import { MARGIN, band, fitName, gutter, pointer, surface, tip, write } from "./canvas.js";
import { legend } from "./spark.js";
import { AXIS, axis, hatching, line, mover } from "./timeline.js";

const SINGLE = 18;
const MANY = 30;

/**
 * Lanes of shares.
 *
 * data: {zero_ns, bin_ms, phases, rows: [{rank, ranks, stage, group}], share} of the API. Other options as of `timeline`.
 */
export const shareLanes = (data, options = {}) =>
  part({ class: "drawing timeline", tabindex: 0, role: "group", "aria-label": "Timeline of groups; plus and minus zoom, arrows move" }, mountLanes, { data, ...options });

function mountLanes(root, first) {
  let now = known(first);
  let view = first.view ?? now.whole;
  const over = surface(root);
  const hint = tip(root);
  const foot = document.createElement("div");
  root.append(foot);
  const again = pointer(over.canvas, {
    moved(px, py) {
      const left = gutter(over.width());
      const ms = view[0] + ((px - left) / (over.width() - left - MARGIN)) * (view[1] - view[0]);
      const lane = now.lanes.find(({ top, size }) => py >= top && py < top + size);
      if (!lane) return hint.hide();
      return hint.show(px, py, [...told(now, lane, ms), ...now.gaps.filter((one) => ms >= one.from && ms <= one.to).map((one) => one.text)]);
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
      label: `Shares of phases of ${count(now.data.rows.reduce((sum, row) => sum + row.ranks, 0))} ranks in ${count(now.lanes.length)} lanes over ${duration(now.data.bin_ms * (now.data.share[0]?.length ?? 0))}.`,
      paint: (context, width) => paint(context, width, view, now),
    });
    const seen = new Set(props.data.share.flat(2).map(([at]) => props.data.phases[at]));
    redraw(foot, legend(PHASE_ORDER.filter((word) => seen.has(word)).map((word) => [word, null])));
    again();
  };
  update(first);
  return { update, zoom: moved.zoom, pan: moved.pan };
}

/** Derives what a drawing needs from its props. */
function known({ data, label = (row) => `rank ${row.rank}`, blamed = new Map(), marks = [], gaps = [], bounds, onview }) {
  let top = AXIS;
  const lanes = data.rows.map((row, place) => {
    const lane = { row, place, top, size: row.ranks > 1 ? MANY : SINGLE };
    top += lane.size;
    return lane;
  });
  const end = data.bin_ms * (data.share[0]?.length ?? 0);
  return { data, lanes, label, blamed, marks, gaps, onview, height: top + 4, whole: bounds ?? [0, Math.max(end, 1e-6)] };
}

/** Name of a lane: a rank, or the group and its number of ranks. */
function nameOf({ rank, ranks, stage, group }, label) {
  if (rank !== null) return label({ rank });
  const parts = [stage === null ? null : `stage ${stage}`, group === null ? null : `DP ${group}`].filter(Boolean);
  return `${parts.join(" ") || "others"}  ${count(ranks)} ranks`;
}

function paint(context, width, view, { data, lanes, height, label, blamed, marks, gaps }) {
  const left = gutter(width);
  const wide = width - left - MARGIN;
  const x = (ms) => left + ((ms - view[0]) / (view[1] - view[0])) * wide;
  axis(context, view, left, wide, height);
  const styles = data.phases.map(phase);
  const hatch = hatching(context);
  for (const { row, place, top, size } of lanes) {
    const severity = row.rank === null ? undefined : blamed.get(row.rank);
    context.fillStyle = token("lane");
    context.fillRect(left, top + 1, wide, size - 2);
    const name = fitName(context, `${severity ? `${SIGNS[severity]} ` : ""}${nameOf(row, label)}`, left - 10, { bold: Boolean(severity) });
    write(context, name, left - 6, top + size / 2, { align: "right", colour: token(severity ?? "muted"), bold: Boolean(severity) });
    context.save();
    context.beginPath();
    context.rect(left, top + 1, wide, size - 2);
    context.clip();
    data.share[place].forEach((parts, at) => {
      const [a, b] = [x(at * data.bin_ms), x((at + 1) * data.bin_ms)];
      if (b < left || a > left + wide) return;
      let low = top + size - 1;
      for (const word of PHASE_ORDER) {
        const own = parts.find(([index]) => data.phases[index] === word);
        if (!own) continue;
        const style = styles[own[0]];
        const tall = own[1] * (size - 2);
        context.fillStyle = style.hatched ? hatch : style.colour;
        context.fillRect(a, low - tall, b - a + 0.4, tall);
        low -= tall;
      }
    });
    context.restore();
  }
  for (const one of gaps) band(context, one.text, [x(one.from), x(one.to)], { left, wide, top: AXIS, tall: height - AXIS });
  for (const mark of marks) line(context, mark, { x, left, wide, height });
}

function told({ data, label }, { row, place }, ms) {
  const at = Math.floor(ms / data.bin_ms);
  const parts = [...(data.share[place][at] ?? [])].sort((a, b) => b[1] - a[1]).slice(0, 5);
  const lines = parts.map(([index, share]) => `${phase(data.phases[index]).label} ${percent(share)}`);
  return [nameOf(row, label), `+${duration(Math.max(0, at) * data.bin_ms)}, of ${duration(data.bin_ms)}`, ...(lines.length ? lines : ["nothing seen"])];
}
