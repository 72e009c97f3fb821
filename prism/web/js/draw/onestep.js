// One step of a culprit beside a healthy peer: phases, and transfers whose height is their rate.

import { duration, octets } from "../format.js";
import { SIGNS, phase, token } from "../palette.js";
import { part } from "../patch.js";
import { MARGIN, gutter, pointer, surface, ticks, tip, write } from "./canvas.js";

const TITLE = 18;
const PHASES = 14;
const SENT = 64;
const GAP = 14;
const LANE = TITLE + PHASES + SENT + GAP;
const AXIS = 18;

/** The picture. data: as from the API. options: severity, gbit(value) formats a rate. */
export const oneStep = (data, options) => part({ class: "drawing" }, mountStep, { data, ...options });

function mountStep(root, first) {
  let now = first;
  const view = surface(root);
  const hint = tip(root);
  const again = pointer(view.canvas, {
    moved(x, y) {
      const left = gutter(view.width());
      const ms = ((x - left) / (view.width() - left - MARGIN)) * now.data.duration_ms;
      const lane = now.data.lanes[Math.floor(y / LANE)];
      if (!lane || x < left) return hint.hide();
      return hint.show(x, y, told(now, lane, ms));
    },
    left: () => hint.hide(),
  });
  const update = (props) => {
    now = props;
    const { data, gbit } = now;
    const label = data.lanes.map((lane, at) => `${at ? "peer" : "culprit"} ${nameOf(lane)} sends ${octets(lane.octets)} in ${duration(lane.sending_ms)} at ${gbit(lane.gbit_s)}`).join("; ");
    view.show({ height: data.lanes.length * LANE + AXIS, label: `Step ${data.step}: ${label}`, paint: (context, width) => paint(context, width, now) });
    again();
  };
  update(first);
  return { update };
}

/** Checks whether a transfer is a relevant part of a lane's octets. */
function sized({ transfers }) {
  const least = Math.max(0, ...transfers.map((one) => one.octets)) * 0.05;
  return (one) => one.octets >= least;
}

const nameOf = ({ rank, host, endpoint }) => `${rank}  ${host ?? endpoint}`;

function paint(context, width, { data, severity, gbit }) {
  const left = gutter(width);
  const wide = width - left - MARGIN;
  const x = (ms) => left + (Math.max(0, Math.min(data.duration_ms, ms)) / data.duration_ms) * wide;
  const large = data.lanes.map(sized); // the rate of a small message means little
  const most = Math.max(1e-9, ...data.lanes.flatMap((lane, at) => lane.transfers.filter(large[at]).map((one) => one.gbit_s ?? 0)));
  const low = data.lanes.length * LANE;
  for (const ms of ticks(0, data.duration_ms, Math.max(2, wide / 110))) {
    context.fillStyle = token("line");
    data.lanes.forEach((_, at) => context.fillRect(Math.round(x(ms)), at * LANE + TITLE, 1, LANE - TITLE - GAP + 4));
    write(context, ms === 0 ? "0" : `+${duration(ms)}`, Math.min(x(ms), left + wide - 20), low + 4, { align: "center" });
  }
  data.lanes.forEach((lane, place) => {
    const top = place * LANE;
    const guilty = place === 0;
    const title = `${guilty ? SIGNS[severity] : "○"} ${guilty ? "culprit" : "healthy peer"}: sends ${octets(lane.octets)} in ${duration(lane.sending_ms)}, ${gbit(lane.gbit_s)}`;
    write(context, title, left, top + TITLE / 2, { colour: token(guilty ? severity : "text"), bold: true });
    write(context, nameOf(lane), left - 6, top + TITLE + PHASES / 2, { align: "right", bold: guilty, colour: token(guilty ? severity : "muted") });
    write(context, gbit(most), left - 6, top + TITLE + PHASES + 8, { align: "right" });
    write(context, "0", left - 6, top + LANE - GAP - 4, { align: "right" });
    context.fillStyle = token("lane");
    context.fillRect(left, top + TITLE, wide, PHASES + SENT);
    for (const one of lane.phases) {
      context.fillStyle = phase(data.phases[one.phase]).colour;
      context.fillRect(x(one.start_ms), top + TITLE, Math.max(0.5, x(one.end_ms) - x(one.start_ms)), PHASES - 2);
    }
    context.globalAlpha = 0.65;
    for (const one of lane.transfers) {
      const tall = large[place](one) ? Math.max(2, ((one.gbit_s ?? 0) / most) * (SENT - 4)) : 2;
      context.fillStyle = one.suspect ? token(severity) : phase("dp").colour;
      context.fillRect(x(one.start_ms), top + TITLE + PHASES + SENT - tall, Math.max(1, x(one.end_ms) - x(one.start_ms)), tall);
    }
    context.globalAlpha = 1;
  });
}

function told({ data, gbit }, lane, ms) {
  const doing = lane.phases.filter((one) => one.start_ms <= ms && one.end_ms >= ms).map((one) => phase(data.phases[one.phase]).label);
  const sent = lane.transfers.filter((one) => one.start_ms <= ms && one.end_ms >= ms).slice(0, 5);
  const lines = sent.map((one) => `${octets(one.octets)} to ${one.to} at ${gbit(one.gbit_s)}, ${duration(one.end_ms - one.start_ms)}`);
  return [nameOf(lane), [`+${duration(Math.max(0, ms))}`, ...doing].join(" · "), ...(lines.length ? lines : ["sends nothing"])];
}
