// Overview: which jobs run, how each is laid out, what slowness costs; the fabric; what was found last.

import { empty, h, section, table } from "../dom.js";
import { count, duration, layout, lost, percent } from "../format.js";
import { drawMatrix } from "../draw/matrix.js";
import { confidence, shares, spark } from "../draw/spark.js";
import { reach } from "../shell.js";
import { link, note } from "../state.js";
import { STATES, list, stateOf, tally } from "./claims.js";
import { fabric } from "./switches.js";

const NEWEST = 8;
const ROWS = 24;

/** The page. */
export async function overview({ source, board, query, fill }) {
  if (!board) return { title: "Overview", node: empty("The service does not answer yet.") };
  const { jobs: running, endpoints, findings } = board.counts;
  const box = h("div", { class: "box" });
  const claims = h("div", { class: "box" });
  const map = h("div", { class: "box" });
  const [found, cases] = [source.get("/jobs", { limit: 1000 }), source.get("/findings", { limit: NEWEST, state: "open" })];
  fill(box, found, (inside, { items }) => drawJobs(inside, items, query, board));
  fill(claims, cases, (inside, { items }) => {
    inside.append(items.length ? list(items.slice(0, NEWEST), board) : empty(board.at_ns === "0" ? "Nothing was analysed yet." : "No fault found."));
  });
  fill(map, Promise.all([source.get("/switches"), cases]), (inside, [switches, { items }]) => {
    const data = fabric(switches, items);
    if (data.cells.length) drawMatrix(inside, data, { label: "Traffic between switches" });
    else inside.append(empty("No traffic between switches is known. Name what each exporter saw, and give a topology."));
  });
  const head = h(
    "header",
    { class: "title" },
    h("h1", {}, `${count(running)} ${running === 1 ? "job" : "jobs"}`, h("span", { class: "muted" }, ` on ${count(endpoints)} endpoints`)),
    board.at_ns === "0" ? null : h("p", {}, tally(findings, { named: true })),
    h("p", { class: "note" }, reach(board)),
    said(board),
  );
  const node = h(
    "div",
    { class: "page" },
    head,
    section("Jobs", { id: "jobs", wide: true, tools: filterBox(query) }, box),
    h("div", { class: "columns" }, section("Newest findings", { id: "newest", tools: h("a", { href: link(["findings"]) }, "All findings") }, claims), section("Fabric", { id: "fabric", tools: h("a", { href: link(["switches"]) }, "Switches") }, map)),
  );
  return { title: "Overview", node };
}

/** What was not understood, and what was left out. */
function said(board) {
  const skipped = Object.entries(board.source.skipped).filter(([, n]) => n);
  const lines = [...board.unexplained, ...(board.source.warnings ?? [])];
  if (!lines.length && !skipped.length) return null;
  const all = skipped.map(([reason, n]) => `${reason} (${count(n)})`).join(", ");
  const text = lines.length ? `${lines.length} ${lines.length === 1 ? "note" : "notes"} on what was not understood` : "What was left out";
  return h("details", { class: "said", open: lines.length > 0 && lines.length < 3 }, h("summary", {}, text), h("ul", {}, lines.map((line) => h("li", {}, line)), all ? h("li", {}, `left out: ${all}`) : null));
}

function filterBox(query) {
  return h("input", {
    type: "search", id: "filter", placeholder: "Filter  /", "aria-label": "Filter jobs by name, state or layout", value: query.filter ?? "",
    oninput: (event) => {
      note({ filter: event.target.value });
      document.dispatchEvent(new CustomEvent("filter", { detail: event.target.value }));
    },
  });
}

const columnsOf = (board) => [
  { name: "id", label: "Job", by: (job) => job.id, cell: (job) => job.id },
  { name: "state", label: "State", by: (job) => job.state, cell: (job) => h("span", { class: `state ${job.state}` }, STATES[stateOf(job, board)]) },
  { name: "layout", label: "Layout", by: (job) => layout(job.layout), cell: (job) => [layout(job.layout), " ", confidence(job.confidence)], class: "layout-cell" },
  { name: "ranks", label: "Ranks", number: true, by: (job) => job.endpoints, cell: (job) => [count(job.endpoints), job.hosts ? h("small", {}, ` on ${count(job.hosts)} hosts`) : null] },
  { name: "step", label: "Step time", number: true, title: "median, and 95th percentile", by: (job) => job.step_ms.median ?? 0, cell: (job) => [duration(job.step_ms.median), h("small", {}, ` p95 ${duration(job.step_ms.p95)}`)] },
  { name: "steps", label: "Steps", cell: (job) => h("span", { class: "steps" }, spark(job.sparkline), h("small", {}, ` ${count(job.steps)}`)) },
  { name: "time", label: "A rank's time", by: (job) => job.phases.idle ?? 0, title: "shares of phases; sorted by idle", cell: (job) => [shares(job.phases), job.phases.idle === undefined ? null : h("small", {}, ` idle ${percent(job.phases.idle)}`)] },
  { name: "lost", label: "Lost", number: true, title: "what slowness cost all GPUs of the job so far", by: (job) => job.lost_gpu_seconds ?? 0, cell: (job) => lost(job.lost_gpu_seconds) },
  { name: "findings", label: "Findings", by: (job) => job.findings.critical * 1e6 + job.findings.warning * 1e3 + job.findings.info, cell: (job) => tally(job.findings) },
];

function drawJobs(box, items, query, board) {
  const columns = columnsOf(board);
  let sorted = { name: query.sort ?? "findings", down: query.up === undefined };
  let filter = query.filter ?? "";
  let all = Boolean(query.all);
  const words = (job) => `${job.id} ${job.state} ${layout(job.layout)}`.toLowerCase();
  const draw = () => {
    if (!box.isConnected && box.childElementCount) return;
    const column = columns.find((one) => one.name === sorted.name && one.by) ?? columns[0];
    const rows = items.filter((job) => words(job).includes(filter.toLowerCase()));
    rows.sort((a, b) => (sorted.down ? -1 : 1) * (column.by(a) < column.by(b) ? -1 : column.by(a) > column.by(b) ? 1 : 0));
    const onsort = (name) => {
      sorted = { name, down: sorted.name === name ? !sorted.down : true };
      note({ sort: name, up: sorted.down ? null : 1 });
      draw();
    };
    const options = { sorted, onsort, href: (job) => link(["jobs", job.id]), marked: (job) => (job.findings.critical ? "critical" : job.findings.warning ? "warning" : null) };
    const shown = all ? rows : rows.slice(0, ROWS);
    const made = rows.length ? table(columns, shown, options) : none(items, board);
    const more = () => { all = true; note({ all: 1 }); draw(); };
    box.replaceChildren(made, rows.length > shown.length ? h("button", { type: "button", class: "link", onclick: more }, `Show all ${count(rows.length)}`) : "");
  };
  draw();
  const listen = (event) => {
    if (!box.isConnected) return document.removeEventListener("filter", listen);
    filter = event.detail;
    return draw();
  };
  document.addEventListener("filter", listen);
}

function none(items, board) {
  if (items.length) return empty("No job fits the filter.");
  if (board.mode === "replay") return empty(board.source.flows ? "No training job was seen in these records." : "These files hold no records.");
  return empty(board.at_ns === "0" ? "No data yet. Once collectors send records, the first jobs appear after some steps. " : "No training job is seen. ", h("a", { href: link(["health"]) }, "What comes in"));
}
