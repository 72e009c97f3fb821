// Reports: GPU-hours lost by cause, host, switch, job and user over a week or a month; repeat offenders.

import { empty, h, section, table } from "../dom.js";
import { count, moment } from "../format.js";
import { bar } from "../draw/parts.js";
import { exports } from "../export.js";
import { link, note } from "../state.js";

const BYS = [["cause", "By cause"], ["host", "By host"], ["switch", "By switch"], ["job", "By job"], ["user", "By user"]];
const SPANS = [[1, "the last day"], [7, "the last week"], [30, "the last 30 days"], [90, "the last 90 days"]];

/** The page. */
export async function reports({ source, query, fill }) {
  const state = { days: Number(query.days) || 7 };
  const whole = h("div", { class: "box" });
  const boxes = Object.fromEntries(BYS.map(([by]) => [by, h("div", { class: "box" })]));
  const draw = () => {
    const asked = Object.fromEntries(BYS.map(([by]) => [by, source.get("/reports/lost", { by, days: state.days })]));
    fill(whole, Promise.all([asked.cause, asked.host]), ([cause, host]) => sum(cause.items, host.items));
    for (const [by] of BYS) fill(boxes[by], asked[by], ({ items }) => rows(items));
  };
  const pick = h("select", { id: "days", onchange: (event) => { state.days = Number(event.target.value); note({ days: state.days }); draw(); } }, SPANS.map(([days, label]) => h("option", { value: days, selected: days === state.days }, label)));
  draw();
  const node = h(
    "div",
    { class: "page" },
    h("header", { class: "title" }, h("h1", {}, "Reports"), h("p", { class: "knobs" }, h("label", { for: "days" }, "GPU-hours lost in"), pick, h("a", { href: `api/v1/reports/lost.html?days=${state.days}`, target: "_blank", rel: "noopener" }, "for a mail"))),
    whole,
    h("div", { class: "columns" }, BYS.map(([by, label]) => section(label, { id: `by-${by}`, tools: exports(source, "/reports/lost", { by, days: state.days }) }, boxes[by]))),
  );
  return { title: "Reports", node };
}

const hours = (number) => `${number >= 100 ? count(number) : Number(number.toPrecision(3))} GPU-h`;

function sum(causes, hosts) {
  const total = causes.reduce((all, one) => all + one.gpu_hours, 0);
  const again = hosts.filter((one) => one.again);
  return [
    h("p", { class: "lead" }, h("b", { class: "big" }, hours(total)), " lost by ", count(causes.reduce((all, one) => all + one.number, 0)), " findings"),
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
