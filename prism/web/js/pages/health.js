// Health: state of all parts, input, losses with reasons, progress of the analysis.

import { empty, facts, h, section, table } from "../dom.js";
import { between, count, duration, moment, words } from "../format.js";
import { exports, sheet } from "../export.js";
import { redraw } from "../patch.js";
import { reach } from "../shell.js";

const LOSS = /drop|lost|skip|refus|error|malformed|late|reject|fail|overflow|gap/;

/** The page. */
export async function health({ source, board, fill }) {
  const [parts, counters, losses, windows, left, gaps, sent] = Array.from({ length: 7 }, () => h("div", { class: "box" }));
  const all = source.get("/health");
  fill(parts, all, partCards);
  fill(losses, all, (body) => counterTable(body.counters.filter(isLoss), "Nothing was lost.", { zero: false }));
  fill(counters, all, (body) => counterTable(body.counters.filter((one) => !isLoss(one)), "No collector runs in this process."));
  fill(windows, source.get("/windows"), ({ items }) => windowTable(items));
  redraw(gaps, gapTable(board?.gaps ?? []));
  fill(sent, source.get("/exporters"), ({ items }) => exporterTable(items));
  const skipped = Object.entries(board?.source.skipped ?? {}).filter(([, n]) => n);
  redraw(left, skipped.length ? reasons(skipped.map(([reason, n]) => [reason, n])) : empty("Nothing was left out."));
  const node = h(
    "div",
    { class: "page" },
    h("header", { class: "title" }, h("h1", {}, "Health"), h("p", { class: "note" }, reach(board))),
    section("Parts", { id: "parts", wide: true }, parts),
    section("Exporters", { id: "exporters", wide: true, note: "why no job is seen: what each lacks for which analysis", tools: exports(source, "/exporters") }, sent),
    h("div", { class: "columns" }, section("Losses by reason", { id: "losses", tools: sheet("losses") }, losses), section("Left out of the records", { id: "skipped", tools: sheet("skipped") }, left)),
    section("Gaps in collection", { id: "gaps", wide: true, note: "what jobs did meanwhile is not known", tools: exports(source, "/gaps") }, gaps),
    section("Windows that were analysed", { id: "windows", wide: true, note: "the newest first", tools: exports(source, "/windows") }, windows),
    section("Counters", { id: "counters", wide: true, tools: sheet("counters") }, counters),
  );
  return { title: "Health", node };
}

function exporterTable(items) {
  if (!items.length) return empty("No exporter has sent records. Check the addresses that this service listens on, and where exporters send to.");
  const columns = [
    { name: "name", label: "Exporter", cell: (one) => h("strong", {}, one.name) },
    { name: "rate", label: "Records/s", number: true, cell: (one) => count(one.records_per_s) },
    { name: "sampling", label: "Sampling", number: true, cell: (one) => (one.sampling === 0 ? "unknown" : one.sampling === 1 ? "all" : `1 : ${count(one.sampling)}`) },
    { name: "timeout", label: "Timeout seen", number: true, cell: (one) => (one.timeout_s === null ? "–" : duration(one.timeout_s * 1000)) },
    { name: "offset", label: "Arrives after", number: true, cell: (one) => (one.offset_s === null ? "–" : duration(one.offset_s * 1000)), title: "its clock is ahead where this is below 0" },
    { name: "lost", label: "Lost", number: true, cell: (one) => count(one.lost) },
    { name: "last", label: "Last seen", cell: (one) => moment(one.last_ns) },
    { name: "lacks", label: "Lacks", cell: (one) => (one.lacks.length ? one.lacks.map(lack) : h("span", { class: "good" }, "● nothing")) },
  ];
  return [table(columns, items, { key: (one) => one.name, marked: (one) => (one.lacks.length ? "warning" : null) }), items.filter((one) => one.interfaces.length).map(portTable)];
}

/** Lists missing data, with folded configuration lines. */
function lack(one) {
  return h("details", { key: one.what }, h("summary", {}, h("span", { class: "severity warning" }, "▲ "), one.what), h("p", {}, one.analysis), Object.entries(one.lines).map(([vendor, lines]) => h("div", { key: vendor }, h("small", {}, vendor), h("pre", {}, lines))));
}

function portTable(one) {
  const columns = [
    { name: "interface", label: "Interface", number: true, cell: (port) => String(port.interface) },
    { name: "up", label: "State", cell: (port) => (port.up ? h("span", { class: "good" }, "● up") : h("span", { class: "bad" }, "■ down")) },
    { name: "speed", label: "Speed", number: true, cell: (port) => `${port.speed_gbit_s} Gbit/s` },
    ...["in", "out"].map((way) => ({ name: way, label: way === "in" ? "Receives" : "Sends", number: true, cell: (port) => (port[`${way}_gbit_s`] === null ? "–" : `${port[`${way}_gbit_s`].toPrecision(3)} Gbit/s`) })),
    { name: "bad", label: "Errors, discards", number: true, cell: (port) => `${count(port.errors)}, ${count(port.discards)}` },
  ];
  return h("details", { key: one.name }, h("summary", {}, `Interfaces of ${one.name} (${count(one.interfaces.length)})`), table(columns, one.interfaces, { key: (port) => port.interface }));
}

const isLoss = (one) => LOSS.test(one.name) || Object.entries(one.labels).some(([name, value]) => name === "reason" || LOSS.test(value));

/** Shows each part with its details. */
function partCards(body) {
  const verdict = body.ok ? h("p", { class: "verdict good" }, "● All parts are well.") : h("p", { class: "verdict bad" }, "■ Not all parts are well.");
  const age = body.mode === "live" && body.board ? [["Newest analysis", `${duration(body.board.age_s * 1000)} ago`]] : [];
  const cards = Object.entries(body.parts).map(([name, part]) => {
    const told = part && typeof part === "object" ? part : { state: part };
    const state = told.ok === undefined ? null : told.ok ? h("span", { class: "good" }, "● well") : h("span", { class: "bad" }, "■ not well");
    return h("article", { key: name, class: "part" }, h("h3", {}, words(name), " ", state), facts(flat(told).filter(([key]) => key !== "ok")));
  });
  return [verdict, facts(age), cards.length ? h("div", { class: "parts" }, cards) : empty(body.mode === "replay" ? "This is a replay: there are no collectors and no store." : "No part of the service reports its state.")];
}

// Labels of details whose name is not clear enough.
const LABELS = { failed: "windows that failed", unheard: "no records from any exporter", "quiet exporters": "exporters that fell silent", lag: "age of the newest record", window: "analysis of a window took", done: "loops compiled", total: "loops to compile", seconds: "time spent, s", oldest: "longest wait for the store" };

/** Flattens names and values of a part; nested names are joined. */
function flat(told, under = "") {
  return Object.entries(told).flatMap(([key, value]) => {
    const name = words(under + key).replace(/ (s|ns|ms)$/, "");
    if (value && typeof value === "object" && !Array.isArray(value)) return flat(value, `${under}${key} `);
    return [[LABELS[name] ?? name, shown(key, value)]];
  });
}

function shown(key, value) {
  if (value === null) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (key.endsWith("_ns")) return moment(String(value));
  if (typeof value === "number" && key.endsWith("_s")) return duration(value * 1000);
  if (typeof value === "number") return Number.isInteger(value) ? count(value) : String(Number(value.toPrecision(4)));
  return Array.isArray(value) ? value.join(", ") : String(value);
}

function counterTable(counters, nothing, { zero = true } = {}) {
  const rows = counters.filter((one) => zero || one.value).sort((a, b) => a.name.localeCompare(b.name) || b.value - a.value);
  if (!rows.length) return empty(nothing);
  const columns = [
    { name: "name", label: "Counter", cell: (one) => words(one.name.replace(/^(prism|collectors?)_/, "").replace(/_total$/, "")) },
    { name: "labels", label: "Of", cell: (one) => Object.values(one.labels).join(", ") || "–" },
    { name: "value", label: "Number", number: true, cell: (one) => count(one.value) },
  ];
  return table(columns, rows.slice(0, 400), { key: (one) => JSON.stringify([one.name, one.labels]) });
}

const reasons = (pairs) => table([{ name: "reason", label: "Reason", cell: ([reason]) => reason }, { name: "n", label: "Packets or records", number: true, cell: ([, n]) => count(n) }], pairs.sort((a, b) => b[1] - a[1]), { key: ([reason]) => reason });

/** Lists the times in which Prism itself collected nothing. */
function gapTable(items) {
  if (!items.length) return empty("Prism collected without interruption.");
  const reasons = { restart: "Prism was not running", paused: "Prism was paused" };
  const columns = [
    { name: "begin", label: "From", cell: (one) => moment(one.begin_ns) },
    { name: "end", label: "To", cell: (one) => (one.end_ns ? moment(one.end_ns) : "no record has come since") },
    { name: "long", label: "Lasted", number: true, cell: (one) => (one.end_ns ? duration(between(one.begin_ns, one.end_ns)) : "–") },
    { name: "reason", label: "Why", cell: (one) => reasons[one.reason] ?? one.reason },
  ];
  return table(columns, items, { key: (one) => one.begin_ns });
}

function windowTable(items) {
  if (!items.length) return empty("No window was analysed yet.");
  const columns = [
    { name: "end", label: "Up to", cell: (one) => moment(one.end_ns) },
    { name: "long", label: "Spans", number: true, cell: (one) => duration(between(one.start_ns, one.end_ns)) },
    { name: "flows", label: "Records", number: true, cell: (one) => count(one.flows) },
    { name: "late", label: "Came too late", number: true, cell: (one) => (one.late ? h("span", { class: "severity warning" }, `▲ ${count(one.late)}`) : "0") },
    { name: "took", label: "Took", number: true, cell: (one) => (one.took_s ? duration(one.took_s * 1000) : "–") },
  ];
  return table(columns, items.slice(0, 60), { key: (one) => one.end_ns });
}
