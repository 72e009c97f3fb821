// Overview: running jobs, their layouts and costs; the fabric; the latest findings.

import { empty, h, section, table } from "../dom.js";
import { count, duration, layout, lost, percent } from "../format.js";
import { podMatrix } from "../draw/pods.js";
import { confidence, shares, spark } from "../draw/spark.js";
import { exports, png } from "../export.js";
import { redraw } from "../patch.js";
import { reach } from "../shell.js";
import { link, note } from "../state.js";
import { STATES, list, nothing, stateOf, tally, worstFirst } from "./claims.js";
import { fabric } from "./switches.js";

const WORST = 8; // open findings
const RECENT = 20; // closed findings, listed beside open ones
const ROWS = 24;

/** The page. */
export async function overview({ source, board, query, fill }) {
  if (!board) return { title: "Overview", node: empty("The service does not answer yet.") };
  const { jobs: running, endpoints, findings } = board.counts;
  const box = h("div", { class: "box" });
  const claims = h("div", { class: "box" });
  const map = h("div", { class: "box" });
  const [found, cases] = [source.get("/jobs", { limit: 1000 }), source.get("/findings", { limit: 1000, state: "open" })];
  const over = source.get("/findings", { limit: RECENT, state: "closed", order: "closed" });
  let known = null;
  const change = (some) => { // selection: a filter, an order, all rows
    Object.assign(query, some);
    note(some);
    if (known) redraw(box, jobRows(known, query, board, change));
  };
  fill(box, found, ({ items }) => {
    known = items;
    return jobRows(known, query, board, change);
  });
  fill(claims, Promise.all([cases, over]), (both) => newest(both.map(({ items }) => items), board));
  fill(map, Promise.all([source.get("/switches"), cases]), ([switches, { items }]) => {
    const data = fabric(switches, items);
    return data.cells.length ? podMatrix(data, { label: "Traffic between switches" }) : empty("No traffic between switches is known. Name what each exporter saw, and give a topology.");
  });
  const head = h(
    "header",
    { class: "title" },
    h("h1", {}, `${count(running)} ${running === 1 ? "job" : "jobs"}`, h("span", { class: "muted" }, ` on ${count(endpoints)} endpoints`)),
    running ? h("p", {}, tally(findings, { none: nothing(board) })) : null,
    h("p", { class: "note" }, reach(board)),
    said(board),
  );
  const node = h(
    "div",
    { class: "page" },
    head,
    section("Jobs", { id: "jobs", wide: true, tools: h("div", { class: "filters" }, exports(source, "/jobs", { limit: 1000 }), filterBox(query, change)) }, box),
    h("div", { class: "columns" }, section("Findings", { id: "newest", tools: h("a", { href: link(["findings"]) }, "All findings") }, claims), section("Fabric", { id: "fabric", tools: h("span", { class: "exports" }, png(() => document.getElementById("fabric"), "fabric"), " ", h("a", { href: link(["switches"]) }, "Switches")) }, map)),
  );
  return { title: "Overview", node };
}

/** Lists the worst open findings, then closed ones, newest first. */
function newest([open, closed], board) {
  const [now, recent] = [worstFirst(open.filter((one) => one.state === "open")), closed.filter((one) => one.state === "closed").slice(0, RECENT)];
  return [
    now.length ? h("div", { key: "open" }, list(now.slice(0, WORST), board)) : empty(nothing(board)),
    now.length > WORST ? h("p", { key: "more", class: "note" }, h("a", { href: link(["findings"], { state: "open" }) }, `${count(now.length - WORST)} more open`)) : null,
    recent.length ? h("div", { key: "closed" }, h("h3", {}, "Closed recently"), list(recent, board, { brief: true })) : null,
  ];
}

/** Lists unknown traffic and omitted data. */
function said(board) {
  const skipped = Object.entries(board.source.skipped).filter(([, n]) => n);
  const lines = [...board.unexplained, ...(board.source.warnings ?? [])];
  if (!lines.length && !skipped.length) return null;
  const all = skipped.map(([reason, n]) => `${reason} (${count(n)})`).join(", ");
  const text = lines.length ? `${lines.length} ${lines.length === 1 ? "note" : "notes"} on unexplained traffic` : "Omitted input";
  return h("details", { class: "said", open: lines.length > 0 && lines.length < 3 }, h("summary", {}, text), h("ul", {}, lines.map((line) => h("li", {}, line)), all ? h("li", {}, `left out: ${all}`) : null));
}

function filterBox(query, change) {
  return h("input", {
    type: "search", id: "filter", placeholder: "Filter  /", "aria-label": "Filter jobs by name, user, queue, state or layout", value: query.filter ?? "",
    oninput: (event) => change({ filter: event.target.value }),
  });
}

const columnsOf = (board) => [
  { name: "id", label: "Job", by: (job) => job.name ?? job.id, cell: (job) => [job.name ? [job.name, h("small", {}, ` ${job.id}`)] : job.id, job.scheduler?.user ? h("small", { class: "owner" }, ` ${job.scheduler.user}${job.scheduler.queue ? ` in ${job.scheduler.queue}` : ""}`) : null] },
  { name: "state", label: "State", by: (job) => job.state, cell: (job) => h("span", { class: `state ${job.state}` }, STATES[stateOf(job, board)]) },
  { name: "layout", label: "Layout", by: (job) => layout(job.layout), cell: (job) => [layout(job.layout), " ", confidence(job.confidence)], class: "layout-cell" },
  { name: "ranks", label: "Ranks", number: true, by: (job) => job.endpoints, cell: (job) => [count(job.endpoints), job.hosts ? h("small", {}, ` on ${count(job.hosts)} hosts`) : null] },
  { name: "step", label: "Step time", number: true, title: "median, and 95th percentile", by: (job) => job.step_ms.median ?? 0, cell: (job) => [duration(job.step_ms.median), h("small", {}, ` p95 ${duration(job.step_ms.p95)}`)] },
  { name: "steps", label: "Steps", cell: (job) => h("span", { class: "steps" }, spark(job.sparkline), h("small", {}, ` ${count(job.steps)}`)) },
  { name: "time", label: "A rank's time", by: (job) => job.phases.idle ?? 0, title: "shares of phases; sorted by idle", cell: (job) => [shares(job.phases), job.phases.idle === undefined ? null : h("small", {}, ` idle ${percent(job.phases.idle)}`)] },
  { name: "lost", label: "Lost", number: true, title: "what slowness cost all GPUs of the job so far", by: (job) => job.lost_gpu_seconds ?? 0, cell: (job) => lost(job.lost_gpu_seconds) },
  { name: "findings", label: "Findings", by: (job) => job.findings.critical * 1e6 + job.findings.warning * 1e3 + job.findings.info, cell: (job) => (job.steps ? tally(job.findings) : h("span", { class: "muted", title: "No step of this job was recognised, so nothing is known about faults." }, "not analysed")) },
];

function jobRows(items, query, board, change) {
  const columns = columnsOf(board);
  const sorted = { name: query.sort ?? "findings", down: !query.up };
  const column = columns.find((one) => one.name === sorted.name && one.by) ?? columns[0];
  const words = (job) => `${job.name ?? ""} ${job.id} ${job.state} ${layout(job.layout)} ${[job.scheduler?.id, job.scheduler?.user, job.scheduler?.queue].join(" ")}`.toLowerCase();
  const rows = items.filter((job) => words(job).includes((query.filter ?? "").toLowerCase()));
  rows.sort((a, b) => (sorted.down ? -1 : 1) * (column.by(a) < column.by(b) ? -1 : column.by(a) > column.by(b) ? 1 : 0));
  if (!rows.length) return none(items, board);
  const shown = query.all ? rows : rows.slice(0, ROWS);
  const made = table(columns, shown, {
    sorted,
    onsort: (name) => change({ sort: name, up: sorted.name === name && sorted.down ? 1 : null }),
    key: (job) => job.id,
    href: (job) => link(["jobs", job.id]),
    marked: (job) => (job.findings.critical ? "critical" : job.findings.warning ? "warning" : null),
  });
  return [made, rows.length > shown.length ? h("button", { type: "button", class: "link", onclick: () => change({ all: 1 }) }, `Show all ${count(rows.length)}`) : null];
}

function none(items, board) {
  if (items.length) return empty("No job fits the filter.");
  if (board.mode === "replay") return empty(board.source.flows ? "No training job was seen in these records." : "These files hold no records.");
  return empty(board.at_ns === "0" ? "No data yet. Once collectors send records, the first jobs appear after some steps. " : "No training job is seen. ", h("a", { href: link(["health"]) }, "What comes in"));
}
