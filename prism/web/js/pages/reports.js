// Reports: GPU-hours lost by cause, host, switch, job and user over a week or a month; repeated culprits.

import { empty, h, section, table } from "../dom.js";
import { count, duration, moment, percent } from "../format.js";
import { bar } from "../draw/parts.js";
import { spark } from "../draw/spark.js";
import { exports } from "../export.js";
import { link, note } from "../state.js";

const BYS = [["cause", "By cause"], ["host", "By host"], ["switch", "By switch"], ["job", "By job"], ["user", "By user"]];
const SPANS = [[1, "the last day"], [7, "the last week"], [30, "the last 30 days"], [90, "the last 90 days"]];

/** The page. */
export async function reports({ source, query, fill }) {
  const state = { days: Number(query.days) || 7 };
  const whole = h("div", { class: "box" });
  const trained = h("div", { class: "box" });
  const boxes = Object.fromEntries(BYS.map(([by]) => [by, h("div", { class: "box" })]));
  const draw = () => {
    const asked = Object.fromEntries(BYS.map(([by]) => [by, source.get("/reports/lost", { by, days: state.days })]));
    fill(whole, Promise.all([asked.cause, asked.host]), ([cause, host]) => sum(cause.items, host.items));
    fill(trained, source.get("/reports/ettr", { days: state.days }), ({ items }) => ratios(items));
    for (const [by] of BYS) fill(boxes[by], asked[by], ({ items }) => rows(items));
  };
  const pick = h("select", { id: "days", onchange: (event) => { state.days = Number(event.target.value); note({ days: state.days }); draw(); } }, SPANS.map(([days, label]) => h("option", { value: days, selected: days === state.days }, label)));
  draw();
  const node = h(
    "div",
    { class: "page" },
    h("header", { class: "title" }, h("h1", {}, "Reports"), h("p", { class: "knobs" }, h("label", { for: "days" }, "GPU-hours lost in"), pick, h("a", { href: `api/v1/reports/lost.html?days=${state.days}`, target: "_blank", rel: "noopener" }, "for a mail"))),
    whole,
    section("Effective training time", { id: "ettr", wide: true, note: "of each job: its time without warm-up, hangs, restarts and steps that were repeated", tools: exports(source, "/reports/ettr", { days: state.days }) }, trained),
    h("div", { class: "columns" }, BYS.map(([by, label]) => section(label, { id: `by-${by}`, tools: exports(source, "/reports/lost", { by, days: state.days }) }, boxes[by]))),
  );
  return { title: "Reports", node };
}

const hours = (number) => `${number >= 100 ? count(number) : Number(number.toPrecision(3))} GPU-h`;

function sum(causes, hosts) {
  const total = causes.reduce((all, one) => all + one.gpu_hours, 0);
  const found = causes.reduce((all, one) => all + one.number, 0);
  const again = hosts.filter((one) => one.again);
  return [
    h("p", { class: "lead" }, h("b", { class: "big" }, hours(total)), " lost by ", found === 1 ? "1 finding" : `${count(found)} findings`),
    again.length ? h("p", {}, h("b", {}, "Repeat offenders: "), again.slice(0, 12).map((one, at) => [at ? ", " : "", h("a", { href: link(["places", "host", one.name]) }, one.name), h("small", {}, ` ${one.number} findings`)])) : null,
  ];
}

function rows(items) {
  if (!items.length) return empty("Nothing was lost in this time.");
  const most = Math.max(1e-9, ...items.map((one) => one.gpu_hours));
  const columns = [
    { name: "name", label: "Name", cell: (one) => [one.name, one.again ? h("small", {}, " again") : null] },
    { name: "lost", label: "Lost", number: true, cell: (one) => [bar(one.gpu_hours / most), hours(one.gpu_hours)] },
    { name: "findings", label: "Findings", number: true, cell: (one) => h("a", { href: link(["findings", one.findings[0]]) }, count(one.number)) },
    { name: "last", label: "Last", cell: (one) => moment(one.last_ns) },
  ];
  return table(columns, items.slice(0, 30), { key: (one) => one.name });
}

const WORDS = { "warm-up": "warm-up", hang: "hangs", crash: "crashes", restart: "restarts", repeated: "repeated steps" };

function ratios(items) {
  if (!items.length) return empty("No job had two steps in this time.");
  const columns = [
    { name: "job", label: "Job", cell: (one) => [one.name ?? one.job, h("small", {}, [one.name ? ` ${one.job}` : "", one.user ? ` ${one.user}` : ""].join(""))] },
    { name: "ratio", label: "Trained", number: true, title: "Share of its time in which it trained", cell: (one) => [bar(one.ratio), `${one.low < one.ratio - 0.0005 ? `${percent(one.low)} to ` : ""}${percent(one.ratio)}`] },
    { name: "sliding", label: "Over time", cell: (one) => spark(one.sliding, { width: 160, what: "Trained", told: percent, most: 1.02 }) },
    { name: "why", label: "Lost by", cell: (one) => lostBy(one.lost_s) },
    { name: "lost", label: "Lost", number: true, cell: (one) => hours(one.lost_gpu_hours) },
    { name: "steps", label: "Steps", number: true, cell: (one) => count(one.steps) },
  ];
  return table(columns, items.slice(0, 50), { key: (one) => one.job, href: (one) => link(["jobs", one.job]) });
}

function lostBy(lost) {
  const told = Object.entries(lost).filter(([, seconds]) => seconds >= 0.05).sort((a, b) => b[1] - a[1]);
  return told.length ? told.map(([reason, seconds]) => `${WORDS[reason] ?? reason} ${duration(seconds * 1000)}`).join(", ") : "nothing";
}
