// An incident: the logs of a run beside its flows; and the form to add logs on the page of a finding.

import { empty, facts, h, section, table } from "../dom.js";
import { count, duration, moment, percent, words } from "../format.js";
import { sheet } from "../export.js";
import { part, redraw } from "../patch.js";
import { bar } from "../draw/parts.js";
import { confidence } from "../draw/spark.js";
import { longTable } from "../longtable.js";
import { link } from "../state.js";

const POLL_MS = 500;
const SHOWN = 64; // endpoints by last payload
const ORDER = ["root", "symptom", "context", "milestone", "unknown"];
const AGREES = { true: ["good", "agree"], false: ["bad", "▲ disagree"], null: ["muted", "not known"] };

/** The page of one incident. */
export async function incident({ source, parts }) {
  const own = await source.get(`/incidents/${encodeURIComponent(parts[1] ?? "")}`);
  const { logs } = own;
  const title = own.failed ? `${own.node ?? "Unknown node"}: ${own.cause ?? "unknown cause"}` : "No failure in these logs";
  const where = own.endpoints.length && own.endpoints[0] !== own.node ? ` (${own.endpoints.join(", ")})` : "";
  const lines = [...(logs.lines ?? [])].sort((a, b) => ORDER.indexOf(a.role) - ORDER.indexOf(b.role));
  const node = h("div", { class: "page finding critical" },
    h("header", { class: "title" },
      h("p", {}, "Incident", own.job ? [" of job ", h("a", { href: link(["jobs", own.job], { replay: parts[1] }) }, own.job)] : null, own.finding ? [" · ", h("a", { href: link(["findings", own.finding]) }, "its finding")] : null),
      h("h1", {}, title),
      own.failed ? h("p", { class: "lead" }, `${own.node ?? "A node"}${where} stopped the job in ${logs.stage}${logs.iteration === null || logs.iteration === undefined ? "" : ` after iteration ${count(logs.iteration)}`}: ${own.why ?? ""}`) : h("p", { class: "lead" }, `The logs end in stage ${logs.stage}.`),
      h("p", { class: "share" }, h("a", { href: link([], { replay: parts[1] }) }, "What the flows show"))),
    facts([
      ["How sure", own.failed ? confidence(own.confidence) : null],
      ["Logs and flows", own.witnesses_agree === null ? "one of them names no node" : h("b", { class: own.witnesses_agree ? "good" : "bad" }, own.witnesses_agree ? "name the same node" : "▲ name different nodes")],
      ["Logs", `${count(logs.input?.sources ?? 0)} files, ${((logs.input?.octets ?? 0) / 1e6).toPrecision(3)} MB`],
      ["Ranks", own.ranks_assumed ? "taken for the order of addresses: nobody says where they are" : null],
    ]),
    h("div", { class: "columns" },
      section("Facts from each source", { id: "witnesses" }, own.witnesses.length ? h("ul", { class: "plain" }, own.witnesses.map((one, at) => h("li", { key: at }, one))) : empty("Neither names anybody.")),
      section("Do they agree?", { id: "checks", tools: sheet("checks") }, own.checks.length ? checks(own.checks) : empty("They have nothing in common to compare."))),
    own.last_payload.length > 1 ? section("First silent endpoints", { id: "silence", wide: true, note: "the last payload of each endpoint", tools: sheet("silence") }, silence(own)) : null,
    own.findings.length ? section("Findings of the flows", { id: "seen", wide: true }, h("ul", { class: "plain" }, own.findings.map((one, at) => h("li", { key: at }, h("b", {}, `${words(one.kind)} `), one.message)))) : null,
    section("Lines that indicate the failure", { id: "lines", wide: true, note: `${count(lines.length + (logs.more_lines ?? 0))} events, what broke first; secrets are masked`, tools: sheet("lines") }, lines.length ? lineTable(lines) : empty("None.")),
    logs.notes?.length ? section("Notes", { id: "notes" }, h("ul", { class: "plain" }, logs.notes.map((one, at) => h("li", { key: at }, one)))) : null,
  );
  return { title: `Incident: ${title}`, node, steady: true };
}

function checks(all) {
  const columns = [
    { name: "what", label: "What", cell: (one) => one.what },
    { name: "logs", label: "Logs", cell: (one) => one.logs },
    { name: "flows", label: "Flows", cell: (one) => one.flows },
    { name: "agrees", label: "", title: "Whether they agree", cell: (one) => h("span", { class: AGREES[one.agrees][0] }, AGREES[one.agrees][1]) },
  ];
  return table(columns.map((one) => ({ ...one, label: one.label || "Agree" })), all, { key: (one) => one.what });
}

function silence({ last_payload: all, endpoints }) {
  const ms = (one) => Number(BigInt(one.time_ns) - BigInt(all[0].time_ns)) / 1e6;
  const most = Math.max(1e-9, ...all.map(ms));
  const columns = [
    { name: "endpoint", label: "Endpoint", cell: (one) => `${endpoints.includes(one.endpoint) ? "▲ " : ""}${one.endpoint}` },
    { name: "when", label: "Last payload", cell: (one) => moment(one.time_ns) },
    { name: "after", label: "After the first", number: true, cell: (one) => [bar(ms(one) / most), duration(ms(one))] },
  ];
  return table(columns, all.slice(0, SHOWN), { key: (one) => one.endpoint, marked: (one) => (endpoints.includes(one.endpoint) ? "critical" : null) });
}

function lineTable(lines) {
  const columns = [
    { name: "where", label: "Where", cell: (one) => `${one.source}:${one.first}` },
    { name: "when", label: "When", cell: (one) => (one.time_ns ? moment(one.time_ns, { brief: true }) : "–") },
    { name: "role", label: "Role", cell: (one) => [one.role, one.signature ? h("small", {}, ` ${one.signature}`) : null] },
    { name: "text", label: "Line", cell: (one) => h("code", { title: one.text }, one.text.length > 220 ? `${one.text.slice(0, 219)}…` : one.text) },
  ];
  return longTable(columns, lines, { label: "Lines", key: (one) => `${one.source} ${one.first} ${one.template ?? one.text}` });
}

/** On a finding's page: its incidents, and the form to add logs. props: {source, finding}. */
export const giveLogs = (source, finding) => part({}, mountLogs, { source, finding });

function mountLogs(root, { source, finding }) {
  let made = [];
  let said = null;
  let busy = false;
  const input = h("input", { type: "file", multiple: true, id: "logs", class: "hidden", tabindex: -1, "aria-label": "Training logs", onchange: () => send([...input.files]) });
  const draw = () => redraw(root, h("p", { class: "knobs" }, h("button", { type: "button", class: "icon", disabled: busy, onclick: () => input.click() }, "Add the run's logs"), input, h("span", { class: "note", role: "status" }, said ?? "log files of its ranks, plain or compressed: they are joined with its flows")),
    made.length ? h("ul", { class: "plain" }, made.map((one) => h("li", { key: one.id, "data-row": "" }, h("a", { href: link(["incidents", one.id]) }, one.failed ? `${one.node ?? "unknown node"}: ${one.cause}` : "no failure in these logs"), h("small", {}, one.failed ? ` ${percent(one.confidence)} sure` : "")))) : null);
  const look = async () => {
    ({ items: made } = await source.get("/incidents", { finding }));
    draw();
  };
  async function send(files) {
    if (!files.length) return;
    const body = new FormData();
    body.append("finding", finding);
    for (const file of files) body.append("logs", file, file.webkitRelativePath || file.name);
    [busy, said] = [true, "Sending …"];
    draw();
    try {
      const { body: told } = await source.send("/incidents", body);
      await wait(told.id);
    } catch (error) {
      said = `▲ ${error.message}`;
    }
    busy = false;
    input.value = "";
    draw();
  }
  async function wait(id) {
    for (;;) {
      const told = await source.get(`/replays/${id}`);
      if (told.state === "done") {
        said = "Joined.";
        return look();
      }
      if (told.state === "failed" || told.state === "cancelled") throw new Error(told.error ?? told.state);
      said = `${told.state === "queued" ? "Waits for its turn" : told.stage || "Begins"} …`;
      draw();
      await new Promise((go) => { setTimeout(go, POLL_MS); });
      if (!root.isConnected) return undefined;
    }
  }
  draw();
  look().catch((error) => {
    said = `▲ ${error.message}`;
    draw();
  });
  return { update() {} };
}
