// The pictures that job and finding pages share: steps over heat, and a timeline with its knobs.

import { empty, h } from "../dom.js";
import { count, duration, later, words } from "../format.js";
import { drawHeat } from "../draw/heat.js";
import { drawSteps } from "../draw/steps.js";
import { drawTimeline } from "../draw/timeline.js";
import { blamed, blamedRanks, title } from "./claims.js";
import { around, firstStep, heatOf, jobOf, measures, namer, pathOf, spansOf, stepAt, stepsOf, stretchOf, telling } from "./stepdata.js";

export const ROWS = 48; // ranks of a timeline at once
export const LEVELS = ["phases", "spans", "steps"];

/** Step durations above the heat of ranks, on one axis. Returns {select(steps)}. */
export function drawStrips(box, { job, steps, heat, cases, measure, onselect, onrank, selected }) {
  const usual = measure === "duration" ? job.step_ms.median : null;
  if (!steps.job.duration_ms.length) {
    box.append(empty("Its steps cannot be told: they repeat too few times, or not alike."));
    return { select() {} };
  }
  const claims = cases.filter((one) => one.finding.severity !== "info");
  const stretches = claims.map(({ finding: found }) => ({ severity: found.severity, text: words(found.kind), ...range(stepsOf(found, steps)) }));
  const events = job.events.map((event) => ({ kind: event.kind, from: stepAt(steps, event.start_ns), to: stepAt(steps, event.end_ns) }));
  const series = { ...steps.job, first: firstStep(steps) };
  const over = drawSteps(box, series, { usual: job.step_ms.median, events, findings: stretches, selected, onselect: (a, b) => both(a, b) });
  const name = namer(job.ranks);
  const outlined = claims.flatMap(({ finding: found, ranks }) => {
    const hit = new Set(ranks);
    return hit.size && hit.size <= 64 ? [{ ranks: hit, steps: stepsOf(found, steps), severity: found.severity, text: `${words(found.kind)} ${blamed(found, 1)}` }] : [];
  });
  const data = { ranks: heat.heat.ranks, steps: spansOf(heat.heat.steps), value: heat.heat.value };
  const under = data.value.length ? drawHeat(box, data, { label: name, usual, outlined, selected, onselect: (a, b, rank) => both(a, b, rank), onrank }) : null;
  const { binned } = heat.heat;
  if (binned.ranks > 1 || binned.steps > 1) box.append(h("p", { class: "note" }, `A cell is the slowest of ${binned.ranks > 1 ? `${binned.ranks} ranks` : ""}${binned.ranks > 1 && binned.steps > 1 ? " and " : ""}${binned.steps > 1 ? `${binned.steps} steps` : ""}; ${count(data.value.length * data.steps.length)} cells for ${count(job.endpoints)} ranks.`));
  const select = (chosen) => {
    over.select(chosen);
    under?.select(chosen);
  };
  const both = (a, b, rank) => {
    select([a, b]);
    onselect?.(a, b, rank);
  };
  return { select };
}

const range = ([from, to]) => ({ from, to });

/** Buttons to choose what the heat shows. */
export function measurePicker(job, chosen, onpick) {
  const pick = h("select", { id: "measure", onchange: (event) => onpick(event.target.value) }, measures(job).map(([value, label]) => h("option", { value, selected: value === chosen }, label)));
  return h("label", {}, "Show ", pick);
}

/** A timeline that fetches what it shows. view: {start_ns, end_ns, ranks: [a, b), level}. Returns {show(view)}. */
export function timelinePicture(box, { source, path, total, cases, onview, marks = [] }) {
  const inside = h("div", { class: "box" });
  const said = h("span", { class: "note", "aria-live": "polite" });
  let view = null;
  let drawn = null;
  let visit = 0;
  const act = (sign, label, go) => h("button", { type: "button", class: "icon", title: label, "aria-label": label, onclick: go }, sign);
  const ranksBy = (by) => {
    const [first, last] = view.ranks;
    const size = last - first;
    const begin = Math.max(0, Math.min(total - size, first + by * size));
    show({ ...view, ranks: [begin, begin + size] });
  };
  const level = h("select", { id: "level", "aria-label": "What is drawn", onchange: (event) => show({ ...view, level: event.target.value }) }, LEVELS.map((value, at) => h("option", { value }, ["phases and waits", "messages", "steps"][at])));
  const pager = total > ROWS ? h("span", { class: "pager" }, act("↑", "Ranks before", () => ranksBy(-1)), act("↓", "Ranks after", () => ranksBy(1))) : null;
  const knobs = h("div", { class: "knobs" }, source.live ? level : null, act("−", "Zoom out", () => drawn?.zoom(2)), act("+", "Zoom in", () => drawn?.zoom(0.5)), act("◀", "Earlier", () => drawn?.pan(-0.5)), act("▶", "Later", () => drawn?.pan(0.5)), pager, said);
  box.append(knobs, inside);

  async function show(next, { quiet = false } = {}) {
    view = { level: "phases", ...next };
    level.value = view.level;
    const mine = (visit += 1);
    const [first, last] = view.ranks;
    let data;
    try {
      data = await source.get(`${path}/timeline`, { start_ns: view.start_ns, end_ns: view.end_ns, ranks: `${first}:${last}`, level: view.level, max_spans: 8000 });
    } catch (error) {
      if (mine === visit) said.textContent = `▲ ${error.message}`;
      return undefined;
    }
    if (mine !== visit) return undefined;
    const rows = data.rows.map((row, place) => ({ ...row, place })).filter((row) => row.rank >= first && row.rank < last);
    const trimmed = rows.length === data.rows.length ? data : picked(data, rows);
    inside.replaceChildren();
    said.textContent = [`ranks ${first} to ${Math.min(last, total) - 1} of ${count(total)}`, data.level === view.level ? null : `too much for ${view.level}: ${data.level} shown`, data.truncated ? "neighbours are joined" : null].filter(Boolean).join("; ");
    if (!trimmed.spans.row.length) return inside.append(empty(source.live ? "Nothing was seen of these ranks in this time." : "The report holds the timeline around the worst finding only."));
    const at = (ns) => Number(BigInt(ns) - BigInt(data.zero_ns)) / 1e6;
    const edges = [at(view.start_ns), at(view.end_ns)];
    const severe = blamedRanks(cases);
    const name = namer(data.rows);
    drawn = drawTimeline(inside, trimmed, {
      view: edges, bounds: widened(edges, data.spans), label: (row) => name(row.rank), blamed: severe,
      marks: marks.map((mark) => ({ ...mark, ms: at(mark.ns) })),
      onview: (from, to) => {
        Object.assign(view, { start_ns: later(data.zero_ns, from), end_ns: later(data.zero_ns, to) });
        onview?.(view);
        if (source.live) show(view, { quiet: true });
      },
    });
    if (!quiet) onview?.(view);
    return undefined;
  }
  return { show, level: () => level.value };
}

/** The bounds within which one may move: three views to each side, or as far as there are spans. */
function widened([from, to], { start_ms: start, end_ms: end }) {
  const span = to - from;
  const low = start.reduce((least, one) => Math.min(least, one), from);
  const high = end.reduce((most, one) => Math.max(most, one), to);
  return [Math.min(low, from - 3 * span), Math.max(high, to + 3 * span)];
}

/** Only some rows of a timeline. */
function picked(data, rows) {
  const place = new Map(rows.map((row, at) => [row.place, at]));
  const keep = data.spans.row.map((row, at) => [row, at]).filter(([row]) => place.has(row));
  const take = (list) => keep.map(([, at]) => list[at]);
  const { start_ms, end_ms, phase, peer } = data.spans;
  return { ...data, rows, spans: { row: keep.map(([row]) => place.get(row)), start_ms: take(start_ms), end_ms: take(end_ms), phase: take(phase), peer: peer ? take(peer) : null } };
}

/** The ranks to show around one: all of a small job, else as many as fit. */
export function ranksAround(rank, total) {
  if (total <= ROWS) return [0, total];
  const first = Math.max(0, Math.min(total - ROWS, rank - (ROWS >> 1)));
  return [first, first + ROWS];
}

/** The pictures of a finding: fetches what they show, then draws: heat around it with the culprit outlined, its first steps. */
export async function pictures(source, one) {
  const found = one.finding;
  const measure = telling(found, one.job);
  const [start_ns, end_ns] = around(found, one.job.step_ms.median ?? 0);
  const [{ job, path, total }, steps] = await Promise.all([
    jobOf(source, found.job),
    heatOf(source, pathOf(found.job), measure, source.live ? { start_ns, end_ns } : {}),
  ]);
  const [first] = one.ranks;
  return (box) => {
    const label = measures(job).find(([name]) => name === measure)[1];
    box.append(h("p", { class: "note" }, `Above: how long the job's steps took (median ${duration(job.step_ms.median)}). Below it, by rank: ${label} in each step.${one.ranks.length ? " The culprit is outlined." : ""}`));
    const strip = h("div", {});
    const line = h("div", {});
    box.append(strip, h("h3", {}, "When it began"), line);
    const picture = timelinePicture(line, { source, path, total, cases: [one], marks: [{ ns: found.start_ns, text: title(found), severity: found.severity }] });
    const [onset] = stepsOf(found, steps);
    const here = (a, b, rank = first ?? 0) => {
      const [from, to] = stretchOf(steps, [a, b]);
      picture.show({ start_ns: from, end_ns: to, ranks: ranksAround(rank, total) });
    };
    drawStrips(strip, { job, steps, heat: steps, cases: [one], measure, onselect: here, selected: [onset - 1, onset + 1] });
    if (steps.job.duration_ms.length) here(onset - 1, onset + 1);
  };
}
