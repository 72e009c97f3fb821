// Compare a job with its own past and with earlier runs of the same fingerprint.

import { h, table } from "../dom.js";
import { count, duration, moment } from "../format.js";
import { link } from "../state.js";

/** Shows the answer of /jobs/ID/history. */
export function against({ known, runs, changed, drift, step_s: step }) {
  if (!known) return h("p", { class: "empty" }, "Too few of its steps are known with their transfers.");
  return [h("p", {}, own(drift)), h("p", {}, earlier(runs, changed)), changed.length ? figures(changed) : null, runs.length ? list(runs, step) : null];
}

const times = (ratio) => `${ratio.toFixed(3)} ×`;

function own(drift) {
  if (!drift) return "Its last steps take as long as its first.";
  return h("span", {}, h("b", { class: drift.worse ? "bad" : "good" }, `${drift.worse ? "▲" : "▼"} Its last steps take ${times(drift.ratio)} as long as its first`), `: ${duration(drift.now * 1000)}, at first ${duration(drift.before * 1000)}.`);
}

function earlier(runs, changed) {
  if (!runs.length) return "No earlier run like it is known.";
  const many = `${count(runs.length)} earlier ${runs.length === 1 ? "run" : "runs"}`;
  const step = changed.find((one) => one.name === "step");
  if (!step) return `It is as fast as ${many} like it.`;
  return h("span", {}, h("b", { class: step.worse ? "bad" : "good" }, `${step.worse ? "▲ Slower" : "▼ Faster"} than ${many}`), ` like it: its steps take ${times(step.ratio)} as long, ${duration(step.now * 1000)} against ${duration(step.before * 1000)}; chance explains ${(step.needed * 100).toFixed(1)} %.`);
}

/** Bandwidths are in bits per second, all other figures in seconds. */
const worded = (name, value) => (name.includes("bandwidth") ? `${(value / 1e9).toPrecision(3)} Gbit/s` : duration(value * 1000));

function figures(changed) {
  const columns = [
    { name: "name", label: "What changed", cell: (one) => one.name },
    { name: "before", label: "Earlier runs", number: true, cell: (one) => worded(one.name, one.before) },
    { name: "now", label: "This run", number: true, cell: (one) => worded(one.name, one.now) },
    { name: "ratio", label: "Ratio", number: true, cell: (one) => [times(one.ratio), h("small", {}, one.worse ? " worse" : " better")] },
  ];
  return table(columns, changed, { key: (one) => one.name, marked: (one) => (one.worse ? "warning" : null) });
}

function list(runs, step) {
  const columns = [
    { name: "job", label: "Earlier run", cell: (one) => h("a", { href: link(["jobs", one.job]) }, one.job) },
    { name: "start", label: "From", cell: (one) => moment(one.start_ns) },
    { name: "end", label: "To", cell: (one) => moment(one.end_ns) },
    { name: "step", label: "Step time", number: true, cell: (one) => [duration(one.step_s * 1000), step && one.step_s ? h("small", {}, ` this one ${times(step / one.step_s)}`) : null] },
  ];
  return table(columns, runs.slice(0, 8), { key: (one) => `${one.job} ${one.start_ns}` });
}
