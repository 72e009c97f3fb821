// A job: its steps and their culprits, timeline of ranks, traffic, layout.

import { empty, facts, h, section, table } from "../dom.js";
import { between, count, duration, layout, likely, lost, moment, names, natural, words } from "../format.js";
import { graph } from "../draw/graph.js";
import { matrix } from "../draw/matrix.js";
import { groupsByKind, ranksGrid } from "../draw/parts.js";
import { confidence, legend, shares } from "../draw/spark.js";
import { exports, png, sheet } from "../export.js";
import { traceButton } from "../trace.js";
import { call, part, redraw } from "../patch.js";
import { link, note, pair } from "../state.js";
import { STATES, ago, blamedRanks, list, stateOf, tally, when } from "./claims.js";
import { LEVELS, levelOf, measurePicker, ranksAround, strips, timelinePicture } from "./pictures.js";
import { against } from "./history.js";
import { rates } from "./rates.js";
import { optional } from "./remarks.js";
import { gapsOf, heatOf, jobOf, pathOf, stepAt, stepsOf, stretchOf } from "./stepdata.js";

const RANKS = 200;

/** The page. */
export async function job({ source, board, parts, query, fill }) {
  const id = parts[1];
  if (!id) return { title: "Jobs", node: empty("Which job? ", h("a", { href: link([]) }, "They are on the overview.")) };
  const path = pathOf(id);
  const steps = source.get(`${path}/steps`);
  steps.catch(() => {}); // the error is shown where the data is drawn
  const [known, { items: cases }] = await Promise.all([jobOf(source, id), source.get("/findings", { job: id, limit: 200 })]);
  const own = cases.filter((one) => one.finding.job === id);
  const found = known.job;
  const room = Object.fromEntries(["strips", "timeline", "graph", "leaves", "rates", "history", "layout", "ranks"].map((name) => [name, h("div", { class: "box" }, h("p", { class: "wait" }, "…"))]));
  const tools = h("div", { class: "filters" });
  const state = { order: query.order === "deviation" ? "deviation" : "rank", measure: query.measure ?? "duration", steps: pair(query.steps), ranks: pair(query.ranks), view: pair(query.view) ? query.view : null, level: LEVELS.includes(query.level) ? query.level : levelOf(known.total, source.live) };
  const heat = state.order === "deviation" ? arrangedOf(source, known.path, state.measure, own) : state.measure === "duration" ? steps : heatOf(source, known.path, state.measure);
  fill(room.strips, Promise.all([steps, heat]), ([line, warm]) => whole({ room, tools, line, warm, known, own, state, source, gaps: gapsOf(board) }));
  let pairs = null;
  fill(room.graph, source.get(`${known.path}/graph`, { by: "endpoint" }), (data) => {
    pairs = data.edges.length ? graph(data, { blamed: blamedIds(own), note: manyNote(data, found) }) : null;
    return pairs ?? empty("No communicating pairs were recorded.");
  });
  fill(room.leaves, source.get(`${known.path}/graph`, { by: "leaf" }), leaves);
  if (source.live) fill(room.rates, optional(source, "rates", "/rates", { by: "endpoint", job: id, limit: 12 }), (data) => (data ? rates({ ...data, items: data.items.filter((one) => one.way === "out") }) : empty("This service keeps no flow records.")));
  if (source.live) fill(room.history, optional(source, "jobs", `${path}/history`), (data) => (data ? against(data) : empty("Nothing earlier is known.")));
  fill(room.layout, Promise.resolve(found), () => groups(found, own, known.total));
  fill(room.ranks, Promise.resolve(known), () => part({}, mountRanks, { known, own }));
  const saved = (name) => png(() => document.getElementById(name), `job-${id}-${name}`);
  const node = h(
    "div",
    { class: "page", onrank: (event) => { if (pairs) call(pairs, "focus", event.detail); } },
    h("header", { class: "title" }, h("p", {}, h("span", { class: `state ${found.state}` }, STATES[stateOf(found, board)] ?? found.state), found.state === "silent" ? h("span", { class: "note" }, " nothing was heard of it for longer than ever while it trained") : null), h("h1", {}, "Job ", found.name ?? found.id, found.name ? h("small", {}, ` ${found.id}`) : null), source.live ? h("p", { class: "share" }, traceButton(source, id), " ", h("a", { href: link(["compare"], { a: id, at: query.replay }) }, "Compare")) : null, h("p", { class: "lead" }, layout(found.layout), " ", confidence(found.confidence))),
    facts(told(found, board)),
    own.length ? section("Findings", { id: "claims", wide: true, tools: h("span", { class: "exports" }, exports(source, "/findings", { job: id, limit: 1000 }), " ", h("a", { href: link(["findings"], { job: id }) }, "with filters")) }, list(firstOpen(own).slice(0, 5), board)) : null,
    section("Steps", { id: "steps", wide: true, tools: h("div", { class: "filters" }, tools, saved("steps")) }, room.strips),
    section("Timeline", { id: "timeline", wide: true, note: "by stage and group; drag to move, Ctrl and wheel to zoom", tools: saved("timeline") }, room.timeline),
    h("div", { class: "columns" }, section("Communication between ranks", { id: "graph", tools: saved("graph") }, room.graph), section("From leaf to leaf", { id: "leaves", tools: saved("leaves") }, room.leaves)),
    source.live ? section("Bandwidth", { id: "rates", wide: true, note: "of the ranks that send most, in the newest window", tools: saved("rates") }, room.rates) : null,
    source.live ? section("Against its past", { id: "history", wide: true, note: "its own steps, and earlier runs with the same ranks, layout and volumes", tools: sheet("history") }, room.history) : null,
    section("Layout", { id: "layout", wide: true, note: `inferred; ${likely(found.confidence)} sure`, tools: sheet("layout") }, room.layout),
    section("Ranks", { id: "ranks", wide: true, tools: sheet("ranks") }, room.ranks),
  );
  return { title: `Job ${found.name ?? id}`, node };
}

/** Sorts open findings before closed ones. */
const firstOpen = (cases) => [...cases].sort((a, b) => (a.state === "closed") - (b.state === "closed"));

function told(found, board) {
  const over = found.step_ms.p95 && found.step_ms.median ? found.step_ms.p95 / found.step_ms.median : null;
  return [
    ["Ranks", [h("b", { class: "big" }, count(found.endpoints)), h("small", {}, found.hosts ? ` on ${count(found.hosts)} hosts` : " hosts not known")]],
    ["Step time", [h("b", { class: "big" }, duration(found.step_ms.median)), h("small", {}, ` p95 ${duration(found.step_ms.p95)}${over > 1.15 ? `, ${over.toFixed(2)} ×` : ""}`)]],
    ["Steps", [h("b", { class: "big" }, count(found.steps)), h("small", {}, ` in ${duration(between(found.start_ns, found.end_ns))}`)]],
    ["GPU time lost", h("b", { class: "big" }, lost(found.lost_gpu_seconds))],
    ["Open findings", tally(found.findings)],
    ["Since", [when(found.start_ns, board), h("small", {}, ` ${ago(found.start_ns, board) ?? moment(found.start_ns)}`)]],
    ["Scheduler", found.scheduler ? [`${found.scheduler.source} ${found.scheduler.id}`, found.scheduler.user ? h("small", {}, ` ${found.scheduler.user}${found.scheduler.queue ? ` in ${found.scheduler.queue}` : ""}`) : null] : null],
    ["A rank's time", shares(found.phases, { named: true })],
  ];
}

/** Shows steps and heat, and the timeline of the selected steps. */
function whole({ room, tools, line, warm, known, own, state, source, gaps }) {
  const { job: found, path, total } = known;
  const claims = own.filter((one) => one.finding.severity !== "info");
  const [severe] = blamedRanks(claims).keys();
  const chosen = state.steps ?? firstSteps(line, own, found);
  let now = state.ranks ?? ranksAround(severe ?? 0, total);
  const keep = (view) => {
    const [start, end] = stretchOf(line, state.steps ?? chosen);
    const exact = view.start_ns === start && view.end_ns === end ? null : `${view.start_ns}:${view.end_ns}`; // a range that is not of whole steps
    now = view.ranks;
    note({ view: exact, ranks: total > now[1] - now[0] ? now.join(":") : null, level: view.level === levelOf(total, source.live) ? null : view.level });
  };
  const [start_ns, end_ns] = state.view?.split(":") ?? stretchOf(line, chosen);
  const marks = claims.map(({ finding }) => ({ ns: finding.start_ns, text: words(finding.kind), severity: finding.severity }));
  const below = line.job.duration_ms.length ? timelinePicture({ source, path, total, cases: own, gaps, onview: keep, marks, view: { start_ns, end_ns, ranks: now, level: state.level } }) : null;
  redraw(room.timeline, below ?? empty("Without steps there is no timeline."));
  const select = (a, b, rank) => {
    if (rank !== undefined && (rank < now[0] || rank >= now[1])) now = ranksAround(rank, total);
    const [from, to] = stretchOf(line, [a, b]);
    state.steps = [a, b];
    note({ steps: `${a}:${b}`, view: null });
    call(below, "show", { start_ns: from, end_ns: to, ranks: now });
  };
  const above = (heat) => strips({ job: found, steps: line, ...(heat.rows ? { arranged: heat } : { heat }), cases: own, gaps, selected: chosen, onselect: select, onrank: (rank) => select(...(state.steps ?? chosen), rank) });
  const show = async (some) => {
    Object.assign(state, some);
    note({ measure: state.measure === "duration" ? null : state.measure, order: state.order === "rank" ? null : state.order });
    redraw(room.strips, above(await (state.order === "rank" ? heatOf(source, path, state.measure) : arrangedOf(source, path, state.measure, own))));
  };
  const order = h("label", {}, h("input", { type: "checkbox", id: "order", checked: state.order === "deviation", onchange: (event) => show({ order: event.target.checked ? "deviation" : "rank" }) }), " what deviates most first");
  if (source.live || Object.keys(found.phases).length) redraw(tools, source.live ? order : null, measurePicker(found, state.measure, (measure) => show({ measure })));
  return above(warm);
}

/** Fetches ranks by deviation since the worst open claim, if there is one. */
function arrangedOf(source, path, measure, own) {
  const worst = own.find((one) => one.state === "open" && one.finding.severity !== "info");
  return source.get(`${path}/arranged`, { measure, finding: worst?.id });
}

/** Selects the first visible steps: at the start of the worst claim, else the newest. */
function firstSteps(line, own, found) {
  const claim = own.find((one) => one.finding.severity !== "info");
  if (claim) {
    const [at] = stepsOf(claim.finding, line);
    return [Math.max(0, at - 1), at + 1];
  }
  const last = stepAt(line, found.end_ns);
  return [Math.max(0, last - 2), last];
}

/** Maps endpoints, hosts and switches to the severity of their worst finding. */
function blamedIds(own) {
  const severe = new Map();
  for (const { finding } of own) for (const id of finding.subject.ids) if (!severe.has(id) && finding.severity !== "info") severe.set(id, finding.severity);
  return severe;
}

const manyNote = (data, found) => (data.by && data.by !== "endpoint" ? `${count(found.endpoints)} ranks are too many to draw: by ${data.by}` : null);

function leaves(data) {
  const cells = new Map();
  for (const { src, dst, octets } of data.edges) {
    const key = `${src}\n${dst}`;
    cells.set(key, { src, dst, octets: (cells.get(key)?.octets ?? 0) + octets });
  }
  const known = data.nodes.map((node) => node.id).sort(natural);
  if (!cells.size || known.length > 500) return empty("Leaves are not known without a topology.");
  return matrix({ names: known, cells: [...cells.values()] }, { label: "Traffic from leaf to leaf" });
}

function groups(found, own, total) {
  const kinds = groupsByKind(found.groups ?? []);
  if (!kinds.length) return empty("No groups are known.");
  const columns = [
    { name: "kind", label: "Kind", cell: (one) => legend([[one.kind, null]]) },
    { name: "number", label: "Groups", number: true, cell: (one) => count(one.number) },
    { name: "sizes", label: "Of size", number: true, cell: (one) => names(one.sizes.map(String), 4) },
    { name: "evidence", label: "Known from", cell: (one) => one.evidence.join(" and ") },
    { name: "sure", label: "How sure", cell: (one) => one.sure },
    { name: "members", label: "Members", cell: (one) => members(one) },
  ];
  return [otherLayouts(found.alternatives ?? []), table(columns, kinds, { key: (one) => one.kind }), total === found.ranks.length && total <= 512 ? ranksGrid(found.ranks, { blamed: blamedRanks(own) }) : null];
}

/** Lists alternative layouts of the job. */
function otherLayouts(all) {
  const shown = all.filter((one) => one.confidence >= 0.01);
  if (!shown.length) return null;
  return h("p", { class: "note", id: "alternatives" }, "The traffic does not exclude ", names(shown.map((one) => `${layout(one.layout)} (${Math.round(one.confidence * 100)} %)`), 3), `: ${shown[0].why}.`);
}

function members(one) {
  const lines = one.all.slice(0, 16).map((group) => h("li", {}, names(group.members, 8)));
  const more = one.all.length > 16 ? h("li", {}, `${count(one.all.length - 16)} more groups`) : null;
  return h("details", {}, h("summary", {}, "list"), h("ul", { class: "members" }, lines, more));
}

/** Lists the ranks: at once for few, else when the list is opened, because blamed ranks may not be among the first. */
function mountRanks(root, first) {
  let props = first;
  let [rows, failed, unfolded] = [null, null, false];
  const draw = () => {
    const { known: { job, total }, own } = props;
    if (total <= 16) return redraw(root, rankTable(job.ranks, total, own));
    const list = failed ? h("p", { class: "failure" }, failed) : rows ? rankTable(rows, total, own) : h("p", { class: "wait" }, "…");
    return redraw(root, h("details", { ontoggle: (event) => toggle(event.target.open) }, h("summary", {}, `${count(total)} ranks`), h("div", {}, list)));
  };
  const load = async () => {
    const asked = props;
    try {
      const got = await asked.known.also([...blamedRanks(asked.own).keys()]);
      if (asked === props) [rows, failed] = [got, null];
    } catch (error) {
      if (asked === props) failed = error.message;
    }
    draw();
  };
  const toggle = (open) => {
    unfolded = open;
    if (open) load();
  };
  draw();
  return {
    update(next) {
      props = next;
      draw();
      if (unfolded) load();
    },
  };
}

function rankTable(ranks, total, own) {
  const severe = blamedRanks(own);
  const columns = [
    { name: "rank", label: "Rank", cell: (one) => `${severe.has(one.rank) ? "▲ " : ""}${one.rank}` },
    { name: "endpoint", label: "Endpoint", cell: (one) => one.endpoint },
    { name: "host", label: "Host", cell: (one) => one.host ?? "–" },
    { name: "leaf", label: "Leaf", cell: (one) => one.leaf ?? "–" },
    { name: "stage", label: "Stage", number: true, cell: (one) => one.stage ?? "–" },
    { name: "groups", label: "Groups", cell: (one) => Object.entries(one.groups).map(([kind, at]) => `${kind.toUpperCase()} ${at}`).join(", ") || "–" },
    { name: "median", label: "Step time", number: true, cell: (one) => duration(one.median_ms) },
    { name: "phases", label: "Its time", cell: (one) => shares(one.phases) },
  ];
  const order = [...ranks].sort((a, b) => severe.has(b.rank) - severe.has(a.rank) || a.rank - b.rank).slice(0, RANKS);
  return [table(columns, order, { key: (one) => one.rank, marked: (one) => severe.get(one.rank) ?? null }), total > order.length ? h("p", { class: "note" }, `${count(total - order.length)} more ranks`) : null];
}
