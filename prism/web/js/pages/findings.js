// Findings: the list, and one finding with its evidence.

import { empty, facts, h, section, table } from "../dom.js";
import { between, count, duration, likely, lost, moment, names, percent, words } from "../format.js";
import { SIGNS } from "../palette.js";
import { exports, png, sheet } from "../export.js";
import { part, redraw } from "../patch.js";
import { bar, suspects } from "../draw/parts.js";
import { confidence, spark } from "../draw/spark.js";
import { reach } from "../shell.js";
import { link, note } from "../state.js";
import { TERMS } from "../terms.js";
import { ago, blamed, list, nothing, severity, title, when } from "./claims.js";
import { pictures } from "./pictures.js";
import { pathOf, telling } from "./stepdata.js";
import { giveLogs } from "./incident.js";
import { besideInOneStep, besidePeers } from "./rates.js";
import { badges, optional, remarksBar } from "./remarks.js";

const KINDS = ["slow_rank", "slow_link", "slow_switch", "slow_group", "slow_step", "stage_imbalance", "data_imbalance", "hang", "crash"];
const MOST = 200;
const LARGE = 256; // ranks
const UNIT = /_ms(_|$)/;
/** Causes without a broken part: there is nothing to isolate. */
const UNBROKEN = new Set(["stage_imbalance", "data_imbalance"]);

/** All findings, with filters in the address. */
export async function findings({ source, board, query, fill }) {
  const box = h("div", { class: "box" });
  const pick = (name, label, options) =>
    h("label", {}, `${label} `, h("select", { id: `pick-${name}`, onchange: (event) => change({ [name]: event.target.value }) },
      h("option", { value: "" }, "all"), options.map((one) => h("option", { value: one, selected: query[name] === one }, words(one)))));
  let text = query.filter ?? "";
  let known = [];
  const shown = () => {
    const fits = (one) => ["severity", "state"].every((name) => !query[name] || (name === "state" ? one.state : one.finding.severity) === query[name])
      && (!query.kind || one.finding.kind === query.kind) && (!query.job || one.finding.job === query.job)
      && `${title(one.finding)} ${one.finding.message} ${one.finding.job}`.toLowerCase().includes(text.toLowerCase());
    const fit = known.filter(fits);
    const none = known.length ? "No finding fits the filters." : board ? nothing(board) : "The service does not answer yet.";
    return [fit.length ? list(fit.slice(0, MOST), board) : empty(none), fit.length > MOST ? h("p", { class: "note" }, `${count(fit.length - MOST)} more`) : null];
  };
  const change = (some) => {
    Object.assign(query, some);
    note(some);
    redraw(box, shown());
  };
  fill(box, source.get("/findings", { limit: 1000 }), ({ items }) => {
    known = items;
    return shown();
  });
  const search = h("input", { type: "search", id: "filter", placeholder: "Filter  /", "aria-label": "Filter findings by words", value: text, oninput: (event) => { text = event.target.value; change({ filter: text }); } });
  const tools = h("div", { class: "filters" }, pick("severity", "Severity", ["critical", "warning", "info"]), pick("kind", "Kind", KINDS), pick("state", "State", ["open", "closed"]), search, exports(source, "/findings", { limit: 1000 }));
  return { title: "Findings", node: h("div", { class: "page" }, h("header", { class: "title" }, h("h1", {}, "Findings"), h("p", { class: "note" }, reach(board))), section("Claims and observations", { wide: true, tools, note: "the newest first" }, box)) };
}

/** One finding. */
export async function finding({ source, board, parts, query, fill }) {
  const one = await source.get(`/findings/${encodeURIComponent(parts[1])}`);
  const found = one.finding;
  const doing = source.live ? await doings(source, one.id) : null;
  const drawn = h("div", { class: "box" }, h("p", { class: "wait" }, "…"));
  const related = h("div", { class: "box" });
  if (one.job) fill(drawn, pictures(source, one, board), (made) => made);
  else redraw(drawn, empty("The job of this finding is no longer known, so there is no picture."));
  if (one.related.length) fill(related, source.get("/findings", { job: found.job, limit: 50 }), ({ items }) => list(items.filter((other) => one.related.includes(other.id)), board));
  const moved = h("div", { class: "box" });
  const order = h("div", { class: "box" });
  const ranked = source.live && one.job && found.kind.startsWith("slow_") && one.job.steps > 0;
  if (ranked) fill(order, deviations(source, one), (items) => deviationRows(items, one));
  const shows = one.job && (await source.has("rates")) && ["slow_link", "slow_switch", "slow_group"].includes(found.kind);
  const step = h("div", { class: "box" });
  if (shows) fill(step, optional(source, "rates", `/findings/${encodeURIComponent(one.id)}/step`).catch((error) => { if (error.status !== 404) throw error; }), (data) => (data ? besideInOneStep(data, found) : null));
  if (shows) fill(moved, optional(source, "rates", `/findings/${encodeURIComponent(one.id)}/rates`), (data) => (data ? besidePeers(data, found) : empty("Flow records of this time are not kept.")));
  const logs = source.live && board?.mode === "live" && !query.replay && (await source.has("incidents")) && (await source.has("rates")) && (["hang", "crash"].includes(found.kind) || found.severity !== "info");
  const byDeviation = ranked ? section("Ranks by deviation", { id: "deviations", wide: true, tools: exports(source, `${pathOf(found.job)}/deviations`, { measure: telling(found, one.job), start_ns: found.start_ns, end_ns: found.end_ns, limit: 1000 }), note: "from their own past and from the other ranks of their stage" }, order) : null;
  const pace = h("span", {}, "…");
  if (one.job?.steps && source.live) fill(pace, source.get(`${pathOf(found.job)}/steps`, { ranks: "0:1", start_ns: found.start_ns, end_ns: found.end_ns, finding: one.id }), paceOf);
  const large = (one.job?.endpoints ?? 0) >= LARGE; // a strip of so many ranks shows no single one
  const node = h(
    "div",
    { class: `page finding ${found.severity}` },
    h("header", { class: "title" }, h("p", {}, severity(found.severity), one.state === "closed" ? " over" : " open", doing ? [" ", badges(doing.remarks)] : null, " · job ", h("a", { href: link(["jobs", found.job]) }, found.job)), h("h1", {}, title(found)), verdictLine(found), h("p", { class: "lead" }, found.message), share()),
    facts(told(one, board, one.job?.steps && source.live ? pace : null)),
    h("div", { class: "columns" },
      section("What to do next", { id: "advice" }, h("ol", { class: "advice" }, one.advice.map((line) => h("li", {}, line)))),
      section("Suspects to isolate", { id: "suspects", note: suspectNote(found) }, UNBROKEN.has(found.kind) ? empty("None: the work is uneven, no part is broken.") : suspects(found.isolate.alternatives))),
    doing ? remarksBar(source, one.id, doing) : null,
    logs ? section("Logs", { id: "logs-here", wide: true }, giveLogs(source, one.id)) : null,
    shows ? section("Bandwidth", { id: "rates", wide: true, note: "how fast it sends: beside its peers, and beside usual", tools: png(() => document.getElementById("rates"), "bandwidth") }, moved, step) : null,
    large ? byDeviation : null,
    section("Evidence in pictures", { id: "pictures", wide: true, tools: png(() => document.getElementById("pictures"), "evidence") }, drawn),
    large ? null : byDeviation,
    compared(found),
    h("div", { class: "columns" }, section("Evidence", { id: "evidence", tools: sheet("evidence") }, evidence(found)), one.related.length ? section("Other findings of this job", { id: "related" }, related) : null),
  );
  return { title: `${SIGNS[found.severity]} ${title(found)}`, node };
}

/** Fetches remarks, hooks and actions; null if the service does not store them. */
async function doings(source, id) {
  const [remarks, hooks, actions] = await Promise.all([optional(source, "remarks", "/remarks", { finding: id }), optional(source, "hooks", "/hooks"), optional(source, "actions", "/actions")]);
  return remarks && hooks && actions ? { remarks: remarks.items, hooks: hooks.items, actions: actions.items.filter((one) => one.finding === id) } : null;
}

function told({ finding: found, state, closed_ns: closed, opened_ns: opened }, board, pace) {
  const weak = found.confidence < 0.7 ? " (look before you act)" : "";
  return [
    ["Who", `${words(found.subject.type)} ${blamed(found, 8)}`],
    ["Since", [when(found.start_ns, board), h("small", {}, ` ${ago(found.start_ns, board) ?? moment(found.start_ns)}`)]],
    [state === "closed" ? "Over since" : "Last seen", state === "closed" && closed ? when(closed, board) : [when(found.end_ns, board), h("small", {}, ` after ${duration(between(found.start_ns, found.end_ns))}`)]],
    ["First reported", board?.mode === "live" ? when(opened, board) : null],
    ["A step takes", pace],
    ["Steps are slower", found.slowdown > 1 ? [h("b", { class: "big" }, `${found.slowdown.toFixed(2)} ×`), h("small", {}, typeof found.evidence.what_if === "number" ? " than without it" : " than its other steps")] : null],
    ["Cost so far", found.lost_gpu_seconds >= 0.5 ? h("b", { class: "big" }, lost(found.lost_gpu_seconds)) : null],
    ["How sure", [confidence(found.confidence), weak]],
  ];
}

/** Compares step times since the start of the finding with the usual ones. */
function paceOf({ job, usual }) {
  const known = job.duration_ms.filter(Number.isFinite).sort((a, b) => a - b);
  if (!known.length) return "–";
  return [h("b", { class: "big" }, duration(known[known.length >> 1])), usual.step_ms ? h("small", {}, ` usually ${duration(usual.step_ms)}`) : null];
}

/** Lists the compared candidates with the share of lost time each explains. */
function compared(found) {
  const all = found.evidence.candidates;
  if (!all?.length) return null;
  const columns = [
    { name: "who", label: "Candidate", cell: (one) => `${names(one.ids, 4)}${one.way ? ` (${one.way})` : ""}` },
    { name: "class", label: "Class", cell: (one) => words(one.class) },
    { name: "explains", label: "Explains of the new delays", number: true, cell: (one) => percent(one.explains) },
    { name: "probability", label: "Probability", number: true, cell: (one) => likely(one.probability) },
  ];
  return section("Why this one?", { id: "compared", tools: sheet("compared") }, table(columns, all, { key: (one) => `${one.class} ${one.way} ${one.ids.join(" ")}` }));
}

function suspectNote(found) {
  const first = found.isolate.hosts.length ? found.isolate.hosts : found.isolate.parts.length ? [found.isolate.parts.join(" – ")] : [];
  return first.length ? `first: ${names(first, 4)} (${likely(found.isolate.confidence)})` : null;
}

const share = () => part({ class: "share" }, mountShare);

function mountShare(root) {
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      redraw(root, button("Copied"));
    } catch {
      redraw(root, h("input", { value: location.href, readonly: true, "aria-label": "Link to this finding", onfocus: (event) => event.target.select() }));
    }
  };
  const button = (text) => h("button", { type: "button", class: "link", onclick: copy }, text);
  redraw(root, button("Copy link"));
  return { update() {} }; // keeps the text "copied"
}

/** Lists ranks by deviation, in the measure that shows this finding best. */
async function deviations(source, { finding: found, job }) {
  const measure = telling(found, job);
  const { items } = await source.get(`${pathOf(found.job)}/deviations`, { measure, start_ns: found.start_ns, end_ns: found.end_ns, limit: job.endpoints >= 64 ? 16 : 8 });
  return items;
}

function deviationRows(items, { ranks }) {
  const most = Math.max(1e-9, ...items.map((one) => one.deviation_ms ?? 0));
  const columns = [
    { name: "rank", label: "Rank", cell: (one) => [`${ranks.includes(one.rank) ? "▲ " : ""}${one.rank} ${one.host ?? one.endpoint}`, h("small", {}, [one.stage === null ? null : ` stage ${one.stage}`, one.group === null ? null : ` DP group ${one.group}`].filter(Boolean).join(","))] },
    { name: "steps", label: "Steps", cell: (one) => spark(one.values_ms, { width: 220 }) },
    { name: "usual", label: "Usually", number: true, cell: (one) => duration(one.usual_ms) },
    { name: "now", label: "Since", number: true, cell: (one) => duration(one.now_ms) },
    { name: "peers", label: "Its stage", number: true, cell: (one) => duration(one.peers_ms) },
    { name: "more", label: "Deviation", number: true, cell: (one) => [bar(Math.max(0, one.deviation_ms ?? 0) / most), duration(one.deviation_ms)] },
  ];
  return table(columns, items, { key: (one) => one.rank, marked: (one) => (ranks.includes(one.rank) ? "warning" : null) });
}

/** Blamed part by subject, for findings without a verdict; a hang or crash may be caused by the program on that machine. */
const BLAMES = { endpoint: "machine", host: "machine", link: "network", switch: "network" };

/** Names the responsible part: network, machine, job, or unknown. */
function verdictLine(found) {
  const own = found.severity === "info" ? {} : { [BLAMES[found.subject.type] ?? "unknown"]: found.confidence };
  const classes = Object.entries(found.evidence.verdict ?? own).filter(([, share]) => typeof share === "number" && share >= 0.01).sort((a, b) => b[1] - a[1]);
  if (!classes.length) return null;
  return h("p", { class: "verdicts", id: "verdict" }, classes.map(([name, share], at) => h("span", { key: name, class: at ? "muted" : "verdict" }, `${name} ${likely(share)}`)));
}

/** Lists evidence as rows of names and values. */
function evidence(found) {
  const hidden = new Set(["what_if", "no_what_if", "steps", "verdict", "candidates"]);
  const rows = Object.entries(found.evidence).filter(([name, value]) => !hidden.has(name) && value !== null && !(typeof value === "object" && !Object.keys(value).length));
  const doubt = found.evidence.no_what_if;
  const all = [...(doubt ? [["replay without it", `is not trusted: ${doubt}`]] : []), ["score", `${found.score.toPrecision(3)} robust sigmas`], ["detector", words(found.detector)], ...rows.map(([name, value]) => [words(name.replace(UNIT, "$1")), shown(name, value), TERMS[name]])];
  const columns = [
    { name: "name", label: "Name", cell: ([name]) => name },
    { name: "value", label: "Value", cell: ([, value]) => value },
    { name: "meaning", label: "Meaning", cell: ([, , meaning]) => h("small", {}, meaning ?? "") },
  ];
  return table(columns, all, { key: ([name]) => name });
}

function shown(name, value) {
  if (typeof value === "number") return UNIT.test(name) ? duration(value) : Number.isInteger(value) ? count(value) : String(Number(value.toPrecision(4)));
  if (Array.isArray(value)) {
    if (value.every((one) => typeof one === "string")) return value.some((one) => one.length > 30) ? h("ul", {}, value.slice(0, 12).map((one) => h("li", {}, one))) : names(value, 12);
    if (value.every((one) => Array.isArray(one))) return h("ul", { class: "pairs" }, value.slice(0, 12).map((one) => h("li", {}, one.join(" → "))), value.length > 12 ? h("li", {}, `${value.length - 12} more`) : null);
    if (value.some((one) => one && typeof one === "object")) return h("ul", {}, value.slice(0, 12).map((one) => h("li", {}, shown(name, one))));
    return names(value.map((one) => (typeof one === "number" && UNIT.test(name) ? duration(one) : String(one ?? "unknown"))), 12);
  }
  if (value && typeof value === "object") return h("ul", { class: "pairs" }, Object.entries(value).slice(0, 12).map(([key, one]) => h("li", {}, `${words(key)}: `, /_ns$/.test(key) ? moment(String(one)) : shown(name, one))));
  return String(value);
}
