// A job: its steps and who slows them, what its ranks did when, who talks to whom, how it is laid out.

import { empty, facts, h, section, table } from "../dom.js";
import { between, count, duration, layout, lost, moment, names, natural, words } from "../format.js";
import { drawGraph } from "../draw/graph.js";
import { drawMatrix } from "../draw/matrix.js";
import { drawLayout, groupsByKind } from "../draw/parts.js";
import { confidence, legend, shares } from "../draw/spark.js";
import { link, note, pair } from "../state.js";
import { STATES, ago, blamedRanks, list, stateOf, tally, when } from "./claims.js";
import { LEVELS, drawStrips, measurePicker, ranksAround, timelinePicture } from "./pictures.js";
import { heatOf, jobOf, pathOf, stepAt, stepsOf, stretchOf } from "./stepdata.js";

const RANKS = 200;

/** The page. */
export async function job({ source, board, parts, query, fill }) {
  const id = parts[1];
  if (!id) return { title: "Jobs", node: empty("Which job? ", h("a", { href: link([]) }, "They are on the overview.")) };
  const path = pathOf(id);
  const steps = source.get(`${path}/steps`);
  steps.catch(() => {}); // said where it is drawn
  const [known, { items: cases }] = await Promise.all([jobOf(source, id), source.get("/findings", { job: id, limit: 200 })]);
  const own = cases.filter((one) => one.finding.job === id);
  const found = known.job;
  const room = Object.fromEntries(["strips", "timeline", "graph", "leaves", "layout", "ranks"].map((name) => [name, h("div", { class: "box" }, h("p", { class: "wait" }, "…"))]));
  const tools = h("div", { class: "filters" });
  const state = { measure: query.measure ?? "duration", steps: pair(query.steps), ranks: pair(query.ranks), view: pair(query.view) ? query.view : null, level: LEVELS.includes(query.level) ? query.level : "phases" };
  const heat = state.measure === "duration" ? steps : heatOf(source, known.path, state.measure);
  fill(room.strips, Promise.all([steps, heat]), (box, [line, warm]) => drawWhole({ box, room, tools, line, warm, known, own, state, source }));
  const graph = source.get(`${known.path}/graph`, { by: "endpoint" });
  fill(room.graph, graph, (box, data) => drawPairs(box, data, own, found));
  fill(room.leaves, source.get(`${known.path}/graph`, { by: "leaf" }), drawLeaves);
  fill(room.layout, Promise.resolve(found), (box) => drawGroups(box, found, own, known.total));
  fill(room.ranks, Promise.resolve(known), (box) => drawRanks(box, known, own));
  const node = h(
    "div",
    { class: "page" },
    h("header", { class: "title" }, h("p", {}, h("span", { class: `state ${found.state}` }, STATES[stateOf(found, board)] ?? found.state), found.state === "silent" ? h("span", { class: "note" }, " nothing was heard of it for longer than ever while it trained") : null), h("h1", {}, "Job ", found.id), h("p", { class: "lead" }, layout(found.layout), " ", confidence(found.confidence))),
    facts(told(found, board)),
    own.length ? section("Findings", { id: "claims", wide: true, tools: h("a", { href: link(["findings"], { job: id }) }, "with filters") }, list(own.slice(0, 5), board)) : null,
    section("Steps", { id: "steps", wide: true, tools }, room.strips),
    section("Timeline", { id: "timeline", wide: true, note: "by stage and group; drag to move, Ctrl and wheel to zoom" }, room.timeline),
    h("div", { class: "columns" }, section("Who talks to whom", { id: "graph" }, room.graph), section("From leaf to leaf", { id: "leaves" }, room.leaves)),
    section("Layout", { id: "layout", wide: true, note: `inferred; ${Math.round(found.confidence * 100)} % sure` }, room.layout),
    section("Ranks", { id: "ranks", wide: true }, room.ranks),
  );
  return { title: `Job ${id}`, node };
}

function told(found, board) {
  const over = found.step_ms.p95 && found.step_ms.median ? found.step_ms.p95 / found.step_ms.median : null;
  return [
    ["Ranks", [h("b", { class: "big" }, count(found.endpoints)), h("small", {}, found.hosts ? ` on ${count(found.hosts)} hosts` : " hosts not known")]],
    ["Step time", [h("b", { class: "big" }, duration(found.step_ms.median)), h("small", {}, ` p95 ${duration(found.step_ms.p95)}${over > 1.15 ? `, ${over.toFixed(2)} ×` : ""}`)]],
    ["Steps", [h("b", { class: "big" }, count(found.steps)), h("small", {}, ` in ${duration(between(found.start_ns, found.end_ns))}`)]],
    ["Lost to slowness", h("b", { class: "big" }, lost(found.lost_gpu_seconds))],
    ["Open findings", tally(found.findings)],
    ["Since", [when(found.start_ns, board), h("small", {}, ` ${ago(found.start_ns, board) ?? moment(found.start_ns)}`)]],
    ["A rank's time", shares(found.phases, { named: true })],
  ];
}

/** Steps and heat, and the timeline that follows what is chosen in them. */
function drawWhole({ box, room, tools, line, warm, known, own, state, source }) {
  const { job: found, path, total } = known;
  const severe = [...blamedRanks(own.filter((one) => one.finding.severity !== "info")).keys()];
  const chosen = state.steps ?? firstSteps(line, own, found);
  const ranks = state.ranks ?? ranksAround(severe[0] ?? 0, total);
  room.timeline.replaceChildren();
  let [exact, now] = [state.view, ranks]; // a stretch that is not of whole steps
  const keep = (view) => {
    const [start, end] = stretchOf(line, state.steps ?? chosen);
    exact = view.start_ns === start && view.end_ns === end ? null : `${view.start_ns}:${view.end_ns}`;
    now = view.ranks;
    note({ view: exact, ranks: total > now[1] - now[0] ? now.join(":") : null, level: view.level === "phases" ? null : view.level });
  };
  const picture = timelinePicture(room.timeline, { source, path, total, cases: own, onview: keep, marks: own.filter((one) => one.finding.severity !== "info").map((one) => ({ ns: one.finding.start_ns, text: words(one.finding.kind), severity: one.finding.severity })) });
  const select = (a, b, rank) => {
    if (rank !== undefined && (rank < now[0] || rank >= now[1])) now = ranksAround(rank, total);
    const [start_ns, end_ns] = stretchOf(line, [a, b]);
    state.steps = [a, b];
    note({ steps: `${a}:${b}`, view: null });
    return picture.show({ start_ns, end_ns, ranks: now, level: picture.level() });
  };
  let strips = null;
  const draw = (data, measure) => {
    box.replaceChildren();
    strips = drawStrips(box, { job: found, steps: line, heat: data, cases: own, measure, selected: state.steps ?? chosen, onselect: select, onrank: (rank) => select(...(state.steps ?? chosen), rank) });
  };
  const measured = async (measure) => {
    note({ measure: measure === "duration" ? null : measure });
    draw(await heatOf(source, path, measure), measure);
  };
  if (source.live || Object.keys(found.phases).length) tools.replaceChildren(measurePicker(found, state.measure, measured));
  draw(warm, state.measure);
  if (!line.job.duration_ms.length) return room.timeline.replaceChildren(empty("Without steps there is no timeline."));
  const [start_ns, end_ns] = exact?.split(":") ?? stretchOf(line, chosen);
  return picture.show({ start_ns, end_ns, ranks, level: state.level }, { quiet: true });
}

/** The steps shown at first: where the worst claim begins, else the newest. */
function firstSteps(line, own, found) {
  const claim = own.find((one) => one.finding.severity !== "info");
  if (claim) {
    const [at] = stepsOf(claim.finding, line);
    return [Math.max(0, at - 1), at + 1];
  }
  const last = stepAt(line, found.end_ns);
  return [Math.max(0, last - 2), last];
}

function drawPairs(box, data, own, found) {
  if (!data.edges.length) return box.append(empty("No pairs are known."));
  const kinds = [...new Set(data.edges.map((edge) => edge.kind))];
  const shown = new Set(kinds);
  const severe = new Map();
  for (const { finding } of own) for (const id of finding.subject.ids) if (!severe.has(id) && finding.severity !== "info") severe.set(id, finding.severity);
  const inside = h("div", {});
  const draw = () => {
    inside.replaceChildren();
    const made = drawGraph(inside, data, { blamed: severe, kinds: shown });
    inside.focusRank = made.focus;
  };
  const boxes = kinds.map((kind) => h("label", {}, h("input", { type: "checkbox", checked: true, onchange: (event) => { shown[event.target.checked ? "add" : "delete"](kind); draw(); } }), legend([[kind, null]])));
  const by = data.by && data.by !== "endpoint" ? h("p", { class: "note" }, `${count(found.endpoints)} ranks are too many to draw: by ${data.by}`) : null;
  box.append(h("div", { class: "filters" }, boxes), by ?? "", inside);
  draw();
  const listen = (event) => (box.isConnected ? inside.focusRank?.(event.detail) : document.removeEventListener("rank", listen));
  document.addEventListener("rank", listen);
  return undefined;
}

function drawLeaves(box, data) {
  const cells = new Map();
  for (const { src, dst, octets } of data.edges) {
    const key = `${src}\n${dst}`;
    cells.set(key, { src, dst, octets: (cells.get(key)?.octets ?? 0) + octets });
  }
  const known = data.nodes.map((node) => node.id).sort(natural);
  if (!cells.size || known.length > 500) return box.append(empty("Leaves are not known without a topology."));
  return drawMatrix(box, { names: known, cells: [...cells.values()] }, { label: "Traffic from leaf to leaf" });
}

function drawGroups(box, found, own, total) {
  const kinds = groupsByKind(found.groups ?? []);
  if (!kinds.length) return box.append(empty("No groups are known."));
  const columns = [
    { name: "kind", label: "Kind", cell: (one) => legend([[one.kind, null]]) },
    { name: "number", label: "Groups", number: true, cell: (one) => count(one.number) },
    { name: "sizes", label: "Of size", number: true, cell: (one) => names(one.sizes.map(String), 4) },
    { name: "evidence", label: "Known from", cell: (one) => one.evidence.join(" and ") },
    { name: "sure", label: "How sure", cell: (one) => one.sure },
    { name: "members", label: "Members", cell: (one) => members(one) },
  ];
  box.append(table(columns, kinds));
  if (total === found.ranks.length && total <= 512) drawLayout(box, found.ranks, { blamed: blamedRanks(own) });
  return undefined;
}

function members(one) {
  const lines = one.all.slice(0, 16).map((group) => h("li", {}, names(group.members, 8)));
  const more = one.all.length > 16 ? h("li", {}, `${count(one.all.length - 16)} more groups`) : null;
  return h("details", {}, h("summary", {}, "list"), h("ul", { class: "members" }, lines, more));
}

function drawRanks(box, known, own) {
  const { job, total, also } = known;
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
  const inside = (ranks) => {
    const order = [...ranks].sort((a, b) => severe.has(b.rank) - severe.has(a.rank) || a.rank - b.rank).slice(0, RANKS);
    return [table(columns, order, { marked: (one) => severe.get(one.rank) ?? null }), total > order.length ? h("p", { class: "note" }, `${count(total - order.length)} more ranks`) : ""];
  };
  if (total <= 16) return box.append(...inside(job.ranks));
  const list = h("div", {}, h("p", { class: "wait" }, "…"));
  let asked = false;
  const open = async () => { // who is blamed may not be among the first: fetched when somebody looks
    if (asked) return;
    asked = true;
    try {
      list.replaceChildren(...inside(await also([...severe.keys()])));
    } catch (error) {
      asked = false;
      list.replaceChildren(h("p", { class: "failure" }, error.message));
    }
  };
  return box.append(h("details", { ontoggle: (event) => { if (event.target.open) open(); } }, h("summary", {}, `${count(total)} ranks`), list));
}
