// Findings as rows and chips: culprit, fault, cost, start, confidence.

import { h } from "../dom.js";
import { between, duration, lost, moment, names, since, zoned } from "../format.js";
import { SIGNS } from "../palette.js";
import { link } from "../state.js";
import { confidence } from "../draw/spark.js";

/** Names the culprits of a finding. */
export function blamed(found, most = 3) {
  const { type, ids } = found.subject;
  return type === "link" ? ids.join(" – ") : names(ids, most);
}

/** Severity of a finding: sign, colour and word. */
export const severity = (word) => h("span", { class: `severity ${word}` }, `${SIGNS[word]} ${word}`);

/** Formats a time: since the start in a replay; live the time of day, with the date if it is long ago. */
export function when(ns, board) {
  const fresh = board?.mode === "live" && between(ns, board.at_ns) < 72e6;
  return board?.mode === "live" ? (fresh ? `${moment(ns, { brief: true })}${zoned()}` : moment(ns)) : since(board?.source.start_ns ?? ns, ns);
}

/** Formats the age at the board's time, live; nothing in a replay. */
export function ago(ns, board) {
  return board?.mode === "live" && board.at_ns !== "0" ? `${duration(Math.max(0, between(ns, board.at_ns)))} ago` : null;
}

/** Title of a finding, as in alerts and on the terminal: Slow rank 10.10.5.1 (server5). */
export const title = (found) => found.title;

/** Lists findings as linked rows; `brief`: without messages. */
export function list(cases, board, { brief = false } = {}) {
  return h("ul", { class: "claims" }, cases.map((one) => row(one, board, brief)));
}

const WORST = ["critical", "warning", "info"];

/** Sorts findings, worst first; stable within a severity. */
export const worstFirst = (cases) => [...cases].sort((a, b) => WORST.indexOf(a.finding.severity) - WORST.indexOf(b.finding.severity));

function row(one, board, brief) {
  const found = one.finding;
  const facts = [
    `since ${when(found.start_ns, board)}`,
    found.slowdown > 1 ? `${found.slowdown.toFixed(2)} × slower` : null,
    found.lost_gpu_seconds >= 0.5 ? lost(found.lost_gpu_seconds) : null,
    one.state === "closed" ? `closed ${when(one.closed_ns ?? found.end_ns, board)}, lasted ${duration(between(found.start_ns, found.end_ns))}` : "open",
  ];
  return h(
    "li",
    { key: one.id, class: `claim ${found.severity} ${one.state}`, "data-row": "" },
    h("a", { href: link(["findings", one.id]) }, severity(found.severity), h("strong", {}, title(found))),
    brief ? null : h("p", { class: "message" }, found.message),
    h("p", { class: "note" }, facts.filter(Boolean).join(" · "), " · job ", h("a", { href: link(["jobs", found.job]) }, found.job), " · ", confidence(found.confidence)),
  );
}

/** States of jobs: a sign beside the word. */
export const STATES = { running: "● running", silent: "◐ silent", ended: "○ ended", recorded: "◷ recorded" };

/** State of a job; a recorded job never runs. */
export const stateOf = (job, board) => (board?.mode === "replay" && job.state === "running" ? "recorded" : job.state);

/** Text for no open findings. "No fault found" requires an analysed, running job without earlier findings. */
export function nothing({ at_ns: at, counts }) {
  if (at === "0") return "Nothing was analysed yet.";
  if (counts.jobs && counts.silent === counts.jobs) return "No job sends anything now, so nothing new is known about faults.";
  if (counts.analysed) return counts.closed ? "No fault is open." : "No fault found.";
  return counts.jobs ? "No step of a job was recognised, so nothing is known about faults." : "No job was analysed, so nothing is known about faults.";
}

/** Counts findings by severity, without zeros. `none`: text for none; then severities are in words too. */
export function tally(counts, { none = null } = {}) {
  const parts = Object.entries(counts).filter(([, n]) => n > 0);
  const named = none !== null;
  if (!parts.length) return h("span", { class: "muted" }, none ?? "none");
  return h("span", { class: "tally" }, parts.map(([word, n]) => h("span", { class: `severity ${word}`, title: `${n} ${word}` }, `${SIGNS[word]} ${n}${named ? ` ${word}` : ""}`)));
}

/** Maps ranks that findings blame in the visible job: Map(rank -> severity). */
export function blamedRanks(cases) {
  const order = { critical: 0, warning: 1, info: 2 };
  const out = new Map();
  for (const { ranks, finding } of cases) {
    for (const rank of ranks) {
      const known = out.get(rank);
      if (!known || order[finding.severity] < order[known]) out.set(rank, finding.severity);
    }
  }
  return out;
}
