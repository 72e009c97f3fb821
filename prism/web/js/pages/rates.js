// Gbit/s and utilisation: of a place, of a job, and of a culprit beside its peers.

import { empty, h, table } from "../dom.js";
import { octets, percent } from "../format.js";
import { lines } from "../draw/lines.js";
import { oneStep } from "../draw/onestep.js";
import { bar } from "../draw/parts.js";

const SHOWN = 6;
const WAYS = { out: " sends", in: " receives", "": "" };

/** Formats a rate. */
export const gbit = (value) => (value === null || value === undefined ? "–" : value >= 1 ? `${Number(value.toPrecision(3))} Gbit/s` : `${Number((value * 1000).toPrecision(3))} Mbit/s`);

/** Formats a pair or a link as a → b. */
const arrow = (id) => id.replace(">", " → ");

/** Draws the largest rates as lines, and a table of all. */
export function rates(data) {
  if (!data.items.length) return empty("No record of this time shows any traffic here.");
  const drawn = data.items.slice(0, SHOWN);
  const speed = drawn.length <= 2 && drawn[0].speed_gbit_s ? { value: drawn[0].speed_gbit_s, text: `${gbit(drawn[0].speed_gbit_s)}${drawn[0].learnt ? ", learnt" : ""}` } : null;
  const near = speed && Math.max(...drawn.map((one) => one.peak_gbit_s)) > speed.value / 4 ? speed : null; // a limit far above would flatten the lines
  const picture = lines({ ...data, unit: "Gbit/s", limit: near, lines: drawn.map((one) => ({ name: `${arrow(one.id)}${WAYS[one.way]}`, values: one.gbit_s })) }, { label: `Gbit/s over time of ${drawn.map((one) => arrow(one.id)).join(", ")}` });
  const columns = [
    { name: "id", label: data.by === "pair" || data.by === "link" ? "From → to" : "Name", cell: (one) => `${arrow(one.id)}${WAYS[one.way]}` },
    { name: "mean", label: "Mean", number: true, cell: (one) => gbit(one.mean_gbit_s) },
    { name: "peak", label: "Peak", number: true, cell: (one) => gbit(one.peak_gbit_s) },
    { name: "speed", label: "Speed", title: "of the topology, or the least that the traffic allows", number: true, cell: (one) => [gbit(one.speed_gbit_s), one.learnt ? h("small", {}, " learnt") : null] },
    { name: "used", label: "Utilisation", number: true, cell: (one) => (one.mean_utilisation === null ? "–" : [bar(Math.min(1, one.peak_utilisation)), `${percent(one.mean_utilisation)}, peak ${percent(one.peak_utilisation)}`]) },
  ];
  const cut = data.truncated ? h("p", { class: "note" }, "This time has more records than are looked at: the rates are those of the first of them.") : null;
  return [picture, table(columns, data.items, { key: (one) => `${one.id} ${one.way}` }), cut];
}

/** Draws one step of a culprit beside a healthy peer, if its records are stored. */
export function besideInOneStep(data, found) {
  const [, peer] = data.lanes;
  const lead = `Step ${data.step} of the job. A bar is a transfer: as wide as it lasts, as high as it is fast; transfers through the blamed part are coloured. ${peer && Math.abs(peer.octets / Math.max(1, data.lanes[0].octets) - 1) < 0.2 ? "The peer moves about as much." : ""}`;
  return [h("h3", {}, "One step of it"), h("p", { class: "note" }, lead), oneStep(data, { severity: found.severity, gbit })];
}

/** Draws the rates of a culprit: since the start, of its peers, and usual ones. */
export function besidePeers(data, found) {
  const { sending } = data;
  const ratio = sending.now && sending.usual ? sending.now / sending.usual : null;
  const words = [
    h("div", { key: "now" }, h("dt", {}, "Sends at, since"), h("dd", {}, h("b", { class: "big" }, gbit(sending.now)), ratio ? h("small", {}, ` ${percent(ratio)} of usual`) : null)),
    h("div", { key: "usual" }, h("dt", {}, "Usually"), h("dd", {}, gbit(sending.usual))),
    h("div", { key: "peers" }, h("dt", {}, `Its ${data.peers_number} peers, since`), h("dd", {}, gbit(sending.peers))),
  ];
  const picture = lines({ ...data, unit: "Gbit/s", mark: { ns: data.begin_ns, text: "begin" }, lines: [{ name: data.ids.map(arrow).slice(0, 2).join(", "), values: data.culprit, strong: true }, { name: "median of its peers", values: data.peers, dashed: true }] }, { label: `Gbit/s over time of ${found.title} beside the median of its peers` });
  const columns = [
    { name: "pair", label: "From → to", cell: (one) => arrow(one.pair) },
    { name: "usual", label: "Usually", number: true, cell: (one) => gbit(one.usual) },
    { name: "now", label: "Since", number: true, cell: (one) => [gbit(one.now), one.now && one.usual ? h("small", {}, ` ${percent(one.now / one.usual)}`) : null] },
    { name: "octets", label: "Moved", number: true, cell: (one) => octets(one.octets) },
  ];
  return [h("dl", { class: "facts" }, words), picture, data.edges.length ? table(columns, data.edges, { key: (one) => one.pair }) : null];
}
