// Compare two jobs, or one job at two times.

import { empty, h, section, table } from "../dom.js";
import { count, duration, layout, moment, octets, words } from "../format.js";
import { sheet } from "../export.js";
import { redraw } from "../patch.js";
import { phase } from "../palette.js";
import { link, note } from "../state.js";

const GROUPS = { step: "Steps", phase: "A rank's time per step", "octets per step": "Octets per step", bandwidth: "Bandwidth over the whole time" };

/** The page: #/compare?a=JOB&b=JOB&at=REPLAY&bt=REPLAY. */
export async function compare({ source, board, query, fill }) {
  const [sides, rows, ranks] = [0, 1, 2].map(() => h("div", { class: "box" }));
  const times = [["", board?.mode === "live" ? "live" : "this replay"], ...(await source.get("/replays")).items.filter((one) => one.state === "done").map((one) => [one.id, one.start_ns ? `${moment(one.start_ns)} – ${moment(one.end_ns)}` : one.files.join(", ")])];
  const jobs = Object.fromEntries(await Promise.all(["a", "b"].map(async (side) => [side, await jobsOf(source, query[`${side}t`])])));
  const state = { a: query.a ?? jobs.a[0]?.id, b: query.b ?? jobs.b.find((one) => one.id !== query.a)?.id ?? jobs.b[0]?.id, at: query.at ?? "", bt: query.bt ?? "" };
  const change = async (some) => {
    Object.assign(state, some);
    for (const side of ["a", "b"]) if (`${side}t` in some) { jobs[side] = await jobsOf(source, state[`${side}t`]); if (!jobs[side].some((one) => one.id === state[side])) state[side] = jobs[side][0]?.id; }
    note(state);
    redraw(sides, pickers());
    draw();
  };
  const pick = (side) => h("div", { key: side, class: "knobs" }, h("b", {}, side === "a" ? "First" : "Second"),
    h("label", { for: `time-${side}` }, "time"), h("select", { id: `time-${side}`, onchange: (event) => change({ [`${side}t`]: event.target.value }) }, times.map(([value, label]) => h("option", { value, selected: state[`${side}t`] === value }, label))),
    h("label", { for: `job-${side}` }, "job"), h("select", { id: `job-${side}`, onchange: (event) => change({ [side]: event.target.value }) }, jobs[side].map((one) => h("option", { value: one.id, selected: one.id === state[side] }, one.name ? `${one.name} (${one.id})` : one.id))));
  const pickers = () => [pick("a"), pick("b")];
  function draw() {
    if (!state.a || !state.b) return redraw(rows, empty("Two jobs are needed. Choose a time at which a job ran."));
    const told = source.get("/compare", { a: state.a, b: state.b, replay_a: state.at, replay_b: state.bt });
    fill(rows, told, changes);
    return fill(ranks, told, rankTable);
  }
  redraw(sides, pickers());
  draw();
  const node = h(
    "div",
    { class: "page" },
    h("header", { class: "title" }, h("h1", {}, "Compare")),
    section("Compared values", { id: "sides", wide: true, note: "to compare with another time, diagnose that time first (the clock above)" }, sides),
    section("What changed", { id: "changes", wide: true, tools: sheet("changes") }, rows),
    section("Ranks that changed most", { id: "changed-ranks", wide: true, note: "per step, by address", tools: sheet("changed-ranks") }, ranks),
  );
  return { title: "Compare", node, steady: true };
}

const jobsOf = async (source, replay) => (await source.get("/jobs", { limit: 1000, ...(replay ? { replay } : {}) })).items;

function changes({ a, b, rows, common }) {
  const same = `${count(common.endpoints)} addresses in both${common.only_a || common.only_b ? `, ${count(common.only_a)} only in the first, ${count(common.only_b)} only in the second` : ""}`;
  const head = h("p", { class: "lead" }, `${layout(a.layout)}`, common.same_layout ? " in both" : ` → ${layout(b.layout)}`, h("small", {}, ` ${same}`));
  const columns = [
    { name: "name", label: "Figure", cell: (one) => named(one) },
    { name: "a", label: "First", number: true, cell: (one) => value(one, one.a) },
    { name: "b", label: "Second", number: true, cell: (one) => value(one, one.b) },
    { name: "ratio", label: "Second / first", number: true, cell: (one) => ratio(one) },
  ];
  const groups = Object.keys(GROUPS).map((group) => [group, rows.filter((one) => one.group === group)]).filter(([, own]) => own.length);
  return [head, groups.map(([group, own]) => h("div", { key: group }, h("h3", {}, GROUPS[group]), table(columns, own, { key: (one) => one.name })))];
}

const named = (one) => (one.group === "phase" ? phase(one.name).label : one.group === "step" ? { median: "step time, median", p95: "step time, 95th percentile", longest: "longest step", number: "steps" }[one.name] : one.name.toUpperCase());

function value(one, number) {
  if (number === null) return "–";
  if (one.unit === "ms") return duration(number);
  if (one.unit === "octets") return octets(number);
  return one.unit === "steps" ? count(number) : `${Number(number.toPrecision(3))} ${one.unit}`;
}

/** Formats a ratio, with a sign above five per cent. */
function ratio({ ratio: by, unit }) {
  if (by === null) return "–";
  const text = `${by.toFixed(2)} ×`;
  if (Math.abs(by - 1) < 0.05 || unit === "steps") return h("span", { class: "muted" }, text);
  return h("span", { class: by > 1 && unit === "ms" ? "severity warning" : "" }, `${by > 1 ? "▲" : "▼"} ${text}`);
}

function rankTable({ ranks }) {
  if (!ranks.length) return empty("No address is in both.");
  const both = (name) => (one) => `${duration(one[name].a)} → ${duration(one[name].b)}`;
  const columns = [
    { name: "endpoint", label: "Address", cell: (one) => h("a", { href: link(["places", "endpoint", one.endpoint]) }, one.endpoint) },
    ...["work_ms", "wait_ms", "communication_ms"].map((name) => ({ name, label: words(name.replace("_ms", "")), number: true, cell: both(name) })),
    { name: "change", label: "Most by", number: true, cell: (one) => duration(one.change_ms) },
  ];
  return table(columns, ranks, { key: (one) => one.endpoint });
}
