// Pictures shared by job and finding pages: steps over heat, and a timeline with its controls.

import { empty, h } from "../dom.js";
import { count, later, words } from "../format.js";
import { deviationStrip } from "../draw/deviation.js";
import { heatStrip } from "../draw/heat.js";
import { shareLanes } from "../draw/lanes.js";
import { stepBars } from "../draw/steps.js";
import { timeline } from "../draw/timeline.js";
import { call, part, redraw } from "../patch.js";
import { blamedRanks, title } from "./claims.js";
import { around, firstStep, gapsOf, gapSteps, heatOf, jobOf, measures, namer, pathOf, spansOf, stepAt, stepsOf, stretchOf, telling } from "./stepdata.js";

export const ROWS = 48; // ranks of a timeline at once
export const LEVELS = ["groups", "phases", "spans", "steps"];
/** Default level of detail for a number of ranks. */
export const levelOf = (total, live = true) => (live && total > ROWS ? "groups" : "phases");

/**
 * Step durations above the heat of ranks, or above ranks `arranged` by deviation, on one axis. props: {job, steps, heat or arranged,
 * cases, gaps, selected, onselect(a, b, rank), onrank(rank)}; a user's selection of steps survives updates.
 */
export const strips = (props) => part({}, mountStrips, props);

function mountStrips(root, first) {
  let props = first;
  let chosen = null;
  const select = (a, b, rank) => {
    chosen = [a, b];
    draw();
    props.onselect?.(a, b, rank);
  };
  const draw = () => redraw(root, stripParts(props, { selected: chosen ?? props.selected, select }));
  draw();
  return {
    update(next) {
      props = next;
      draw();
    },
  };
}

function stripParts({ job, steps, heat, arranged, cases, onrank, gaps = [] }, { selected, select }) {
  if (!steps.job.duration_ms.length) return empty("No steps were recognised: the traffic repeats too few times, or with too much variation.");
  const claims = cases.filter((one) => one.finding.severity !== "info");
  const stretches = claims.map(({ finding: found }) => ({ severity: found.severity, text: words(found.kind), ...range(stepsOf(found, steps)) }));
  const unseen = gapSteps(gaps, steps);
  const events = job.events.map((event) => ({ kind: event.kind, from: stepAt(steps, event.start_ns), to: stepAt(steps, event.end_ns) }));
  const series = { ...steps.job, first: firstStep(steps) };
  const bars = stepBars(series, { usual: steps.usual.step_ms, events, findings: stretches, gaps: unseen, selected, onselect: (a, b) => select(a, b) });
  if (arranged) return [bars, byDeviation(arranged, { steps, claims, unseen, selected, select, onrank })];
  const data = { ranks: heat.heat.ranks, steps: spansOf(heat.heat.steps), value: heat.heat.value };
  const outlined = claims.flatMap(({ finding: found, ranks }) => {
    const hit = new Set(ranks);
    return hit.size && hit.size <= 64 ? [{ ranks: hit, steps: stepsOf(found, steps), severity: found.severity, text: title(found) }] : [];
  });
  const { binned } = heat.heat;
  const coarse = `A cell is the slowest of ${binned.ranks > 1 ? `${binned.ranks} ranks` : ""}${binned.ranks > 1 && binned.steps > 1 ? " and " : ""}${binned.steps > 1 ? `${binned.steps} steps` : ""}; ${count(data.value.length * data.steps.length)} cells for ${count(job.endpoints)} ranks.`;
  return [
    bars,
    data.value.length ? heatStrip(data, { label: namer(job.ranks), usual: heat.usual.value_ms, outlined, gaps: unseen, selected, onselect: select, onrank }) : null,
    binned.ranks > 1 || binned.steps > 1 ? h("p", { class: "note" }, coarse) : null,
  ];
}

const range = ([from, to]) => ({ from, to });

/** Draws ranks by deviation; the first claim that names ranks is framed. */
function byDeviation(arranged, { steps, claims, unseen, selected, select, onrank }) {
  const name = namer(arranged.rows.filter((row) => row.rank !== null).map((row) => ({ ...row, rail: null })));
  const shown = claims.find((one) => one.ranks.length) ?? null;
  const blamed = new Set(shown?.ranks ?? []);
  const claim = shown ? { steps: stepsOf(shown.finding, steps), text: title(shown.finding) } : null;
  return arranged.steps.length ? deviationStrip(arranged, { label: (row) => name(row.rank), blamed, severity: shown?.finding.severity, claim, gaps: unseen, selected, onselect: select, onrank }) : null;
}

/** Buttons that choose the measure of the heat. */
export function measurePicker(job, chosen, onpick) {
  const pick = h("select", { id: "measure", onchange: (event) => onpick(event.target.value) }, measures(job).map(([value, label]) => h("option", { value, selected: value === chosen }, label)));
  return h("label", {}, "Show ", pick);
}

/**
 * A timeline that fetches its data. props: {source, path, total, cases, marks, gaps, view, onview(view)}; view: {start_ns, end_ns, ranks:
 * [a, b), level}. Method: show(view). A user's view survives updates.
 */
export const timelinePicture = (props) => part({}, mountPicture, props);

function mountPicture(root, first) {
  let props = first;
  const usual = levelOf(first.total, first.source.live);
  let view = { level: usual, ...first.view };
  let chosen = false;
  let visit = 0;
  let data = null;
  let said = "";
  const draw = () => redraw(root, knobs(props, view, said, { show, zoom: (factor) => within("zoom", factor), pan: (share) => within("pan", share) }), data ? lanes(props, view, data, moved) : h("p", { class: "wait" }, "…"));
  const within = (name, by) => {
    const drawn = root.querySelector(".timeline");
    if (drawn) call(drawn, name, by);
  };
  const moved = (from, to) => {
    chosen = true;
    const { zero_ns: zero } = data;
    view = { ...view, start_ns: later(zero, from), end_ns: later(zero, to) };
    props.onview?.(view);
    if (props.source.live) load();
  };
  async function load() {
    const mine = (visit += 1);
    const asked = view;
    let got;
    try {
      got = await fetched(props, asked);
    } catch (error) {
      if (mine !== visit) return;
      said = `▲ ${error.message}`;
      draw();
      return;
    }
    if (mine !== visit) return;
    data = got;
    said = about(props, asked, data);
    draw();
  }
  async function show(next) {
    chosen = true;
    view = { level: usual, ...next };
    props.onview?.(view);
    await load();
  }
  draw();
  load();
  return {
    update(next) {
      props = next;
      if (!chosen) view = { level: usual, ...next.view };
      load();
    },
    show: (next) => show({ level: view.level, ...next }),
  };
}

/** Fetches a view with the requested ranks only; as shares if there are too many bars of phases. */
async function fetched({ source, path, total, cases }, { start_ns, end_ns, ranks: [first, last], level }) {
  if (level === "groups") return source.get(`${path}/shares`, { start_ns, end_ns, singles: [...blamedRanks(cases).keys()].slice(0, 8).join(",") });
  const data = await source.get(`${path}/timeline`, { start_ns, end_ns, ranks: `${first}:${last}`, level, max_spans: 8000 });
  if (source.live && level === "phases" && data.level === "steps") {
    const some = Array.from({ length: Math.min(last, total) - first }, (_, at) => first + at).slice(0, ROWS);
    return source.get(`${path}/shares`, { start_ns, end_ns, singles: some.join(","), alone: true });
  }
  const rows = data.rows.map((row, place) => ({ ...row, place })).filter((row) => row.rank >= first && row.rank < last);
  return rows.length === data.rows.length ? data : picked(data, rows);
}

const about = ({ total }, { ranks: [first, last], level }, data) =>
  data.share ? (level === "groups" ? `${count(total)} ranks: the height of a colour is the share of ranks` : `ranks ${first} to ${Math.min(last, total) - 1}: too much time for each phase, so shares`) :
  [`ranks ${first} to ${Math.min(last, total) - 1} of ${count(total)}`, data.level === level ? null : `too much for ${level}: ${data.level} shown`, data.truncated ? "neighbours are joined" : null].filter(Boolean).join("; ");

function knobs({ source, total }, view, said, { show, zoom, pan }) {
  const act = (sign, label, go) => h("button", { type: "button", class: "icon", title: label, "aria-label": label, onclick: go }, sign);
  const ranksBy = (by) => {
    const [first, last] = view.ranks;
    const size = last - first;
    const begin = Math.max(0, Math.min(total - size, first + by * size));
    show({ ...view, ranks: [begin, begin + size] });
  };
  const words = ["groups of ranks", "phases and waits", "messages", "steps"];
  const level = h("select", { id: "level", "aria-label": "What is drawn", onchange: (event) => show({ ...view, level: event.target.value }) }, LEVELS.map((value, at) => h("option", { value, selected: value === view.level }, words[at])));
  const pager = total > ROWS && view.level !== "groups" ? h("span", { class: "pager" }, act("↑", "Ranks before", () => ranksBy(-1)), act("↓", "Ranks after", () => ranksBy(1))) : null;
  return h("div", { class: "knobs" }, source.live ? level : null, act("−", "Zoom out", () => zoom(2)), act("+", "Zoom in", () => zoom(0.5)), act("◀", "Earlier", () => pan(-0.5)), act("▶", "Later", () => pan(0.5)), pager, h("span", { class: "note", "aria-live": "polite" }, said));
}

function lanes({ source, cases, marks = [], gaps = [] }, view, data, onview) {
  if (data.share ? !data.share.some((row) => row.some((one) => one.length)) : !data.spans.row.length) return empty(source.live ? "No traffic of these ranks was recorded in this time." : "The report holds the timeline around the worst finding only.");
  const at = (ns) => Number(BigInt(ns) - BigInt(data.zero_ns)) / 1e6;
  const edges = [at(view.start_ns), at(view.end_ns)];
  const name = namer(data.rows.filter((row) => row.rank !== null));
  const shown = {
    view: edges, label: (row) => name(row.rank), blamed: blamedRanks(cases),
    marks: marks.map((mark) => ({ ...mark, ms: at(mark.ns) })), onview,
    gaps: gaps.map((gap) => ({ text: gap.text, from: at(gap.begin_ns), to: at(gap.end_ns) })).filter((gap) => gap.to > edges[0] && gap.from < edges[1]),
  };
  if (data.share) return h("div", { key: "shares" }, shareLanes(data, { ...shown, bounds: widened(edges, { start_ms: [], end_ms: [] }) }));
  return h("div", { key: "bars" }, timeline(data, { ...shown, bounds: widened(edges, data.spans) }));
}

/** Limits of panning: three views to each side, or the extent of the spans. */
function widened([from, to], { start_ms: start, end_ms: end }) {
  const span = to - from;
  const low = start.reduce((least, one) => Math.min(least, one), from);
  const high = end.reduce((most, one) => Math.max(most, one), to);
  return [Math.min(low, from - 3 * span), Math.max(high, to + 3 * span)];
}

/** Selects rows of a timeline. */
function picked(data, rows) {
  const place = new Map(rows.map((row, at) => [row.place, at]));
  const keep = data.spans.row.map((row, at) => [row, at]).filter(([row]) => place.has(row));
  const take = (list) => keep.map(([, at]) => list[at]);
  const { start_ms, end_ms, phase, peer } = data.spans;
  return { ...data, rows, spans: { row: keep.map(([row]) => place.get(row)), start_ms: take(start_ms), end_ms: take(end_ms), phase: take(phase), peer: peer ? take(peer) : null } };
}

/** Selects the ranks to show around one: all of a small job, else as many as fit. */
export function ranksAround(rank, total) {
  if (total <= ROWS) return [0, total];
  const first = Math.max(0, Math.min(total - ROWS, rank - (ROWS >> 1)));
  return [first, first + ROWS];
}

/** Number of ranks from which a finding's strip shows the largest deviations instead of all ranks. */
export const ARRANGED = 64;

/** Fetches and draws the pictures of a finding: heat around it with the culprit outlined, its first steps. */
export async function pictures(source, one, board) {
  const found = one.finding;
  const measure = telling(found, one.job);
  const [start_ns, end_ns] = around(found, one.job.step_ms.median ?? 0);
  const large = source.live && one.job.endpoints >= ARRANGED && found.kind.startsWith("slow_");
  const own = pathOf(found.job);
  const [{ job, path, total }, steps, arranged] = await Promise.all([
    jobOf(source, found.job),
    heatOf(source, own, measure, source.live ? { start_ns, end_ns, finding: one.id, ...(large ? { ranks: "0:1" } : {}) } : {}),
    large ? source.get(`${own}/arranged`, { measure, start_ns, end_ns, finding: one.id }) : null,
  ]);
  const [culprit] = one.ranks;
  const gaps = gapsOf(board);
  const label = measures(job).find(([name]) => name === measure)[1];
  const under = large ? `${label} of each rank against its own past; the ranks that deviate most come first, in the groups that they are in` : `by rank: ${label} in each step`;
  const lead = `Above: how long the job's steps took; dashed: the usual time before it. Below it, ${under}.${one.ranks.length ? " The culprit is outlined." : ""}`;
  const [onset] = stepsOf(found, steps);
  const view = ([a, b], rank = culprit ?? 0) => {
    const [from, to] = stretchOf(steps, [a, b]);
    return { start_ns: from, end_ns: to, ranks: ranksAround(rank, total) };
  };
  const selected = [onset - 1, onset + 1];
  const marks = [{ ns: found.start_ns, text: title(found), severity: found.severity }];
  const below = steps.job.duration_ms.length ? timelinePicture({ source, path, total, cases: [one], marks, gaps, view: view(selected) }) : null;
  const above = strips({ job, steps, heat: steps, arranged, cases: [one], gaps, selected, onselect: (a, b, rank) => call(below, "show", view([a, b], rank)) });
  return [h("p", { class: "note" }, lead), above, below ? h("h3", {}, "When it began") : null, below];
}
