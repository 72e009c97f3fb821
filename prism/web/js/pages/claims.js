// Findings as rows and chips: who, what, how much, since when, how sure.

import { h } from "../dom.js";
import { between, duration, lost, moment, names, since, words } from "../format.js";
import { SIGNS } from "../palette.js";
import { link } from "../state.js";
import { confidence } from "../draw/spark.js";

/** Whom a finding blames, in words. */
export function blamed(found, most = 3) {
  const { type, ids } = found.subject;
  return type === "link" ? ids.join(" – ") : names(ids, most);
}

/** A finding's severity: a sign, a colour, a word. */
export const severity = (word) => h("span", { class: `severity ${word}` }, `${SIGNS[word]} ${word}`);

/** When something was: as time since the start of a replay, as a time of day live, with the date where that was long ago. */
export function when(ns, board) {
  const fresh = board?.mode === "live" && between(ns, board.at_ns) < 72e6;
  return board?.mode === "live" ? (fresh ? `${moment(ns, { brief: true })} UTC` : moment(ns)) : since(board?.source.start_ns ?? ns, ns);
}

/** How long ago that was at the board's time, live; nothing in a replay. */
export function ago(ns, board) {
  return board?.mode === "live" && board.at_ns !== "0" ? `${duration(Math.max(0, between(ns, board.at_ns)))} ago` : null;
}

/** A claim's title: slow rank 10.10.5.1. */
export const title = (found) => `${words(found.kind)} ${blamed(found)}`;

/** Findings as a list of rows that are links. */
export function list(cases, board) {
  return h("ul", { class: "claims" }, cases.map((one) => row(one, board)));
}

function row(one, board) {
  const found = one.finding;
  const facts = [
    `since ${when(found.start_ns, board)}`,
    found.slowdown > 1 ? `${found.slowdown.toFixed(2)} × slower` : null,
    found.lost_gpu_seconds >= 0.5 ? lost(found.lost_gpu_seconds) : null,
    one.state === "closed" ? "over" : null,
  ];
  return h(
    "li",
    { class: `claim ${found.severity} ${one.state}`, "data-row": "" },
    h("a", { href: link(["findings", one.id]) }, severity(found.severity), h("strong", {}, title(found))),
    h("p", { class: "message" }, found.message),
    h("p", { class: "note" }, facts.filter(Boolean).join(" · "), " · job ", h("a", { href: link(["jobs", found.job]) }, found.job), " · ", confidence(found.confidence)),
  );
}

/** States of jobs: a sign beside the word. */
export const STATES = { running: "● running", silent: "◐ silent", ended: "○ ended", recorded: "◷ recorded" };

/** The state of a job; what was recorded does not run. */
export const stateOf = (job, board) => (board?.mode === "replay" && job.state === "running" ? "recorded" : job.state);

/** A count of findings by severity, those of none left out; `named`: with the word. */
export function tally(counts, { named = false } = {}) {
  const parts = Object.entries(counts).filter(([, n]) => n > 0);
  if (!parts.length) return h("span", { class: "muted" }, named ? "● no fault found" : "none");
  return h("span", { class: "tally" }, parts.map(([word, n]) => h("span", { class: `severity ${word}`, title: `${n} ${word}` }, `${SIGNS[word]} ${n}${named ? ` ${word}` : ""}`)));
}

/** Ranks that findings blame, in the job that is shown: Map(rank -> severity). */
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
