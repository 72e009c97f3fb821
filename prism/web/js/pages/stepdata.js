// Steps and ranks of a job as the drawings want them: names of ranks, times as numbers of steps, heat of several measures.

import { between, later } from "../format.js";
import { phase } from "../palette.js";

const FIRST_RANKS = 1024;
const WORK = ["forward", "backward", "compute", "optimizer"];

/** A job with the first of its ranks; `also(some)` gives these and those of some others that are near one another. */
export async function jobOf(source, id) {
  const path = pathOf(id);
  const job = await source.get(path, { ranks: `0:${FIRST_RANKS}` });
  const total = job.ranks_total ?? job.ranks.length;
  const also = async (some) => {
    const missing = new Set(some.filter((rank) => rank >= job.ranks.length && rank < total));
    if (!missing.size) return job.ranks;
    const first = Math.min(...missing);
    const { ranks } = await source.get(path, { ranks: `${first}:${Math.min(first + FIRST_RANKS, Math.max(...missing) + 1)}` });
    return [...job.ranks, ...ranks.filter((one) => missing.has(one.rank))];
  };
  return { job, path, total, also };
}

/** Where a job is. */
export const pathOf = (id) => `/jobs/${encodeURIComponent(id)}`;

/** What a rank is called, of these: its number and its host, or its address. */
export function namer(ranks) {
  const byRank = new Map(ranks.map((one) => [one.rank, one]));
  const several = new Set();
  const seen = new Set();
  for (const { host } of ranks) (seen.has(host) ? several : seen).add(host);
  return (rank) => {
    const one = byRank.get(rank);
    if (!one) return `rank ${rank}`;
    const place = one.host ? `${one.host}${several.has(one.host) && one.rail !== null ? `.${one.rail}` : ""}` : one.endpoint;
    return `${rank}  ${place}`;
  };
}

/** The measures that a heat strip of the job can show: [[value, label], …]. */
export function measures(job) {
  const words = Object.keys(job.phases);
  const own = words.filter((word) => !WORK.includes(word)).map((word) => [word, word === "idle" ? "waiting" : phase(word).label]);
  return [["duration", "step time"], ...(words.some((word) => WORK.includes(word)) ? [["work", "own work"]] : []), ...own];
}

/** The steps of a job, and the heat of a measure over them. */
export const heatOf = (source, path, measure, query = {}) => source.get(`${path}/steps`, { measure: measure === "duration" ? null : measure, ...query });

/** Which measure shows a finding best. */
export function telling(found, job) {
  const known = measures(job).map(([name]) => name);
  if (found.kind === "slow_rank" && known.includes("work")) return "work";
  if (["slow_link", "slow_switch", "slow_group"].includes(found.kind)) {
    const traffic = ["dp", "tp", "ep", "cp", "pp"].filter((word) => known.includes(word)).sort((a, b) => job.phases[b] - job.phases[a]);
    if (traffic.length) return traffic[0];
  }
  return "duration";
}

/** Number of the step at a time (text of ns), moved by `shift` of a usual step; the nearest at the ends. */
export function stepAt(steps, ns, shift = 0) {
  const durations = steps.job.duration_ms;
  const ms = between(steps.zero_ns, ns) + shift * (durations.length ? durations[durations.length >> 1] : 0);
  const { start_ms: starts } = steps.job;
  let [low, high] = [0, starts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (starts[middle] <= ms) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1) + firstStep(steps);
}

/** The number of the first step of the job that is there. */
export const firstStep = (steps) => {
  if (steps.job.first !== undefined) return steps.job.first;
  const first = steps.heat.steps[0] ?? 0;
  return Array.isArray(first) ? first[0] : first;
};

/** Columns and rows of heat as [first, last], whether binned or not. */
export const spansOf = (list) => list.map((one) => (Array.isArray(one) ? one : [one, one]));

/** When steps [first, last] begin and end, as text of ns. */
export function stretchOf(steps, [first, last]) {
  const { start_ms: starts, duration_ms: durations } = steps.job;
  const zero = firstStep(steps);
  const a = Math.max(0, Math.min(starts.length - 1, first - zero));
  const b = Math.max(a, Math.min(starts.length - 1, last - zero));
  const end = Number.isFinite(durations[b]) ? starts[b] + durations[b] : (starts[b + 1] ?? starts[b]);
  return starts.length ? [later(steps.zero_ns, starts[a]), later(steps.zero_ns, end)] : [steps.zero_ns, steps.zero_ns];
}

/** The steps of a finding, [first, last]. Ranks end a step at slightly different times, so a quarter of a step is no step. */
export function stepsOf(found, steps) {
  const first = stepAt(steps, found.start_ns, 0.25);
  return [first, Math.max(first, stepAt(steps, found.end_ns, -0.25))];
}

/** The time around a finding that its pictures show: as much before as it lasted, at least some steps; [start, end] as text of ns. */
export function around(found, step_ms) {
  const margin = Math.max(6 * step_ms, between(found.start_ns, found.end_ns) * 0.4);
  return [later(found.start_ns, -margin), later(found.end_ns, margin)];
}

/** What the reason of a gap in collection means. */
const REASONS = { restart: "Prism was not running", paused: "Prism was paused" };

/** Gaps in collection with words, their ends as text of ns; one that is not over lasts until `now`. */
export const gapsOf = (board) => (board?.gaps ?? []).map((gap) => ({ begin_ns: gap.begin_ns, end_ns: gap.end_ns ?? board.at_ns, text: REASONS[gap.reason] ?? gap.reason }));

/** Those gaps that the steps reach into, as numbers of steps [{text, from, to}]. */
export function gapSteps(gaps, steps) {
  const { start_ms: starts } = steps.job;
  if (!starts.length) return [];
  const ms = (ns) => between(steps.zero_ns, ns);
  const inside = gaps.filter((gap) => ms(gap.end_ns) > starts[0] && ms(gap.begin_ns) < starts.at(-1) + (steps.job.duration_ms.at(-1) ?? 0));
  return inside.map((gap) => ({ text: gap.text, from: stepAt(steps, gap.begin_ns), to: stepAt(steps, gap.end_ns) }));
}
