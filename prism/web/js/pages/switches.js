// Switches and links: traffic, errors, attached hosts; and the hosts to isolate first.

import { empty, h, section } from "../dom.js";
import { count, lost, names, natural, octets, percent } from "../format.js";
import { podMatrix } from "../draw/pods.js";
import { bar } from "../draw/parts.js";
import { exports, png } from "../export.js";
import { longTable } from "../longtable.js";
import { redraw } from "../patch.js";
import { reach } from "../shell.js";
import { link, note } from "../state.js";
import { severity, title } from "./claims.js";

/** The page. */
export async function switches({ source, board, query, fill }) {
  const [map, rows, hosts, links] = [0, 1, 2, 3].map(() => h("div", { class: "box" }));
  const all = source.get("/switches");
  const cases = source.get("/findings", { limit: 1000, state: "open" });
  fill(map, Promise.all([all, cases]), ([data, { items }]) => {
    const shown = fabric(data, items);
    return shown.cells.length ? podMatrix(shown, { label: "Traffic between switches" }) : empty("No traffic between switches is known: records name no path, or there is no topology.");
  });
  let known = null;
  fill(rows, all, ({ items }) => {
    known = items;
    return switchTable(known, query.filter ?? "");
  });
  fill(links, Promise.all([all, cases]), ([{ links: items }, found]) => linkTable(items, found.items));
  fill(hosts, Promise.all([source.get("/hosts"), cases]), ([{ items }, found]) => hostTable(items, found.items));
  const filter = (text) => {
    query.filter = text;
    note({ filter: text });
    if (known) redraw(rows, switchTable(known, text));
  };
  const search = h("input", { type: "search", id: "filter", placeholder: "Filter  /", "aria-label": "Filter switches by name", value: query.filter ?? "", oninput: (event) => filter(event.target.value) });
  const node = h(
    "div",
    { class: "page" },
    h("header", { class: "title" }, h("h1", {}, "Switches"), h("p", { class: "note" }, reach(board))),
    section("Hosts to isolate first", { id: "hosts", wide: true, note: "that open claims suspect, the worst first", tools: exports(source, "/hosts") }, hosts),
    h("div", { class: "columns" }, section("From switch to switch", { id: "fabric", tools: png(() => document.getElementById("fabric"), "fabric") }, map), section("Links", { id: "links", note: "the busiest first", tools: exports(source, "/links") }, links)),
    section("All switches", { id: "switches", wide: true, tools: h("div", { class: "filters" }, exports(source, "/switches"), search) }, rows),
  );
  return { title: "Switches", node };
}

/** Draws links as a matrix: switches by name, leaves first; findings framed. */
export function fabric({ items, links }, cases) {
  const busy = links.filter((one) => one.octets > 0);
  const used = new Set(busy.flatMap((one) => [one.src, one.dst]));
  const names_ = items.map((one) => one.id).filter((id) => used.has(id)).sort(natural);
  const byId = new Map(cases.map((one) => [one.id, one.finding]));
  const marked = busy.flatMap((one) => one.findings.filter((id) => byId.has(id)).map((id) => ({ src: one.src, dst: one.dst, severity: byId.get(id).severity, text: title(byId.get(id)) })));
  return { names: names_, cells: busy, marked };
}

function switchTable(items, text) {
  if (!items.length) return empty("No switch is known. Give a topology, or name what each exporter saw.");
  const most = Math.max(1, ...items.map((one) => one.octets_out ?? 0));
  const number = (name) => (one) => count(one[name]);
  const columns = [
    { name: "id", label: "Switch", cell: (one) => one.id },
    { name: "endpoints", label: "Endpoints", number: true, cell: number("endpoints") },
    { name: "jobs", label: "Jobs", cell: (one) => (one.jobs.length ? one.jobs.slice(0, 4).map((id, at) => [at ? ", " : "", h("a", { href: link(["jobs", id]) }, id)]).concat(one.jobs.length > 4 ? ` and ${one.jobs.length - 4} more` : "") : "–") },
    { name: "octets", label: "Carried", number: true, cell: (one) => [bar((one.octets_out ?? 0) / most), octets(one.octets_out)] },
    { name: "ecn", label: "ECN marks", number: true, cell: number("ecn") },
    { name: "cnp", label: "CNPs", number: true, cell: number("cnp") },
    { name: "retransmits", label: "Sent again", number: true, cell: number("retransmits") },
    { name: "findings", label: "Findings", cell: (one) => (one.findings.length ? one.findings.map((id) => h("a", { href: link(["findings", id]), class: "severity warning" }, "▲ ")) : "none") },
  ];
  const shown = items.filter((one) => one.id.toLowerCase().includes(text.toLowerCase())).sort((a, b) => b.findings.length - a.findings.length || natural(a.id, b.id));
  if (!shown.length) return empty("No switch fits the filter.");
  return longTable(columns, shown, { label: "Switches", key: (one) => one.id, marked: (one) => (one.findings.length ? "warning" : null), href: (one) => link(["places", "switch", one.id]) });
}

function linkTable(links, cases) {
  const byId = new Map(cases.map((one) => [one.id, one.finding]));
  const shown = [...links].sort((a, b) => b.findings.length - a.findings.length || (b.octets ?? 0) - (a.octets ?? 0));
  if (!shown.length) return empty("No link is known.");
  const most = Math.max(1, ...links.map((one) => one.octets ?? 0));
  const columns = [
    { name: "link", label: "Link", cell: (one) => `${one.src} → ${one.dst}` },
    { name: "octets", label: "Carried", number: true, cell: (one) => [bar((one.octets ?? 0) / most), octets(one.octets)] },
    { name: "findings", label: "Findings", cell: (one) => one.findings.filter((id) => byId.has(id)).map((id) => h("a", { href: link(["findings", id]) }, severity(byId.get(id).severity))) },
  ];
  return longTable(columns, shown, { label: "Links", plain: 16, key: (one) => `${one.src} ${one.dst}`, marked: (one) => (one.findings.length ? "warning" : null) });
}

function hostTable(hosts, cases) {
  if (!hosts.length) return empty("No open finding suspects a host.");
  const byId = new Map(cases.map((one) => [one.id, one.finding]));
  const columns = [
    { name: "host", label: "Host", cell: (one) => h("a", { href: link(["places", "host", one.host]) }, h("strong", {}, one.host)) },
    { name: "severity", label: "Severity", cell: (one) => severity(one.severity) },
    { name: "probability", label: "Contains the cause", cell: (one) => [bar(one.probability), percent(one.probability)] },
    { name: "lost", label: "Lost", number: true, cell: (one) => lost(one.lost_gpu_seconds) },
    { name: "jobs", label: "Jobs", cell: (one) => names(one.jobs, 4) },
    { name: "findings", label: "Why", cell: (one) => one.findings.slice(0, 3).map((id) => h("a", { href: link(["findings", id]) }, byId.has(id) ? `${title(byId.get(id))} ` : id)) },
  ];
  return longTable(columns, hosts, { label: "Hosts", plain: 16, key: (one) => one.host });
}
