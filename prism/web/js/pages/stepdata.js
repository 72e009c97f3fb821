// Prepare steps and ranks of a job for drawings: names of ranks, times as step numbers, heat of several measures.

import { between, later } from "../format.js";
import { phase } from "../palette.js";

const FIRST_RANKS = 1024;
const WORK = ["forward", "backward", "compute", "optimizer"];

/** Fetches a job with its first ranks; `also(some)` adds other ranks that are close together. */
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

/** Path of a job. */
export const pathOf = (id) => `/jobs/${encodeURIComponent(id)}`;

/** Returns a function that names a rank: its number and host, or its address. */
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

/** Lists the measures of a job's heat strip: [[value, label], …]. */
export function measures(job) {
  const words = Object.keys(job.phases);
  const own = words.filter((word) => !WORK.includes(word)).map((word) => [word, word === "idle" ? "waiting" : phase(word).label]);
  return [["duration", "step time"], ...(words.some((word) => WORK.includes(word)) ? [["work", "own work"]] : []), ...own];
}

/** Fetches the steps of a job, and the heat of a measure. */
export const heatOf = (source, path, measure, query = {}) => source.get(`${path}/steps`, { measure: measure === "duration" ? null : measure, ...query });

/** Chooses the measure that shows a finding best. */
export function telling(found, job) {
  const known = measures(job).map(([name]) => name);
  if (found.kind === "slow_rank" && known.includes("work")) return "work";
  if (["slow_link", "slow_switch", "slow_group"].includes(found.kind)) {
    const traffic = ["dp", "tp", "ep", "cp", "pp"].filter((word) => known.includes(word)).sort((a, b) => job.phases[b] - job.phases[a]);
    if (traffic.length) return traffic[0];
  }
  return "duration";
}

/** Returns the step number at a time (text of ns), shifted by `shift` usual steps; the nearest at the ends. */
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

/** Returns the number of the first available step. */
export const firstStep = (steps) => {
  if (steps.job.first !== undefined) return steps.job.first;
  const first = steps.heat.steps[0] ?? 0;
  return Array.isArray(first) ? first[0] : first;
};

/** Converts columns and rows of heat to [first, last], binned or not. */
export const spansOf = (list) => list.map((one) => (Array.isArray(one) ? one : [one, one]));

/** Returns start and end of steps [first, last], as text of ns. */
export function stretchOf(steps, [first, last]) {
  const { start_ms: starts, duration_ms: durations } = steps.job;
  const zero = firstStep(steps);
  const a = Math.max(0, Math.min(starts.length - 1, first - zero));
  const b = Math.max(a, Math.min(starts.length - 1, last - zero));
  const end = Number.isFinite(durations[b]) ? starts[b] + durations[b] : (starts[b + 1] ?? starts[b]);
  return starts.length ? [later(steps.zero_ns, starts[a]), later(steps.zero_ns, end)] : [steps.zero_ns, steps.zero_ns];
}

/** Returns the steps of a finding, [first, last]. Ranks end a step at slightly different times, so a quarter of a step is ignored. */
export function stepsOf(found, steps) {
  const first = stepAt(steps, found.start_ns, 0.25);
  return [first, Math.max(first, stepAt(steps, found.end_ns, -0.25))];
}

/** Returns the time range of a finding's pictures: its own duration before it, at least some steps; [start, end] as text of ns. */
export function around(found, step_ms) {
  const margin = Math.max(6 * step_ms, between(found.start_ns, found.end_ns) * 0.4);
  return [later(found.start_ns, -margin), later(found.end_ns, margin)];
}

/** Texts of the reasons of collection gaps. */
const REASONS = { restart: "Prism was not running", paused: "Prism was paused" };

/** Converts collection gaps: texts, ends as text of ns; an open gap ends at `now`. */
export const gapsOf = (board) => (board?.gaps ?? []).map((gap) => ({ begin_ns: gap.begin_ns, end_ns: gap.end_ns ?? board.at_ns, text: REASONS[gap.reason] ?? gap.reason }));

/** Converts gaps that overlap the steps to step numbers: [{text, from, to}]. */
export function gapSteps(gaps, steps) {
  const { start_ms: starts } = steps.job;
  if (!starts.length) return [];
  const ms = (ns) => between(steps.zero_ns, ns);
  const inside = gaps.filter((gap) => ms(gap.end_ns) > starts[0] && ms(gap.begin_ns) < starts.at(-1) + (steps.job.duration_ms.at(-1) ?? 0));
  return inside.map((gap) => ({ text: gap.text, from: stepAt(steps, gap.begin_ns), to: stepAt(steps, gap.end_ns) }));
}
