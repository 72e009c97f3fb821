// Alerts: actions waiting for approval, silences with matched alerts, notifications with deliveries.

import { empty, h, section, table } from "../dom.js";
import { count, moment } from "../format.js";
import { exports } from "../export.js";
import { redraw } from "../patch.js";
import { reach } from "../shell.js";
import { link } from "../state.js";
import { actionRow, goesOn, optional } from "./remarks.js";

const POLL_MS = 700;
const STATES = { waiting: "◔ waiting", sent: "● sent", dead: "■ failed" };

/** The page. */
export async function alerts({ source, board, fill }) {
  const [acts, quiet, told] = [0, 1, 2].map(() => h("div", { class: "box" }));
  const said = h("p", { class: "note", role: "status" });
  const hooks = optional(source, "hooks", "/hooks");
  const none = () => empty("This service keeps no remarks, silences and actions.");
  const showActions = (found, known) => {
    if (!found) return none();
    if (!found.items.length) return empty(known.items.length ? "No action was proposed." : "No hook for actions is set. Add actions to the alerts file.");
    return h("ul", { class: "plain trail" }, [...found.items].sort((a, b) => goesOn(b) - goesOn(a)).slice(0, 100).map((one) => actionRow(one, known.items, decide)));
  };
  async function decide(one, approved) {
    await attempt(() => source.say(`/actions/${one.id}`, { approved }), approved ? "Approved." : "Rejected.");
    setTimeout(() => acts.isConnected && renew(), POLL_MS);
  }
  async function attempt(does, words) {
    try {
      await does();
      said.textContent = words;
    } catch (error) {
      said.textContent = `▲ ${error.message}`;
    }
    await renew();
  }
  async function renew() {
    const [found, known, silences] = await Promise.all([source.get("/actions"), hooks, source.get("/silences")]);
    redraw(acts, showActions(found, known));
    redraw(quiet, silenceTable(silences.items, end));
  }
  const end = (one) => attempt(() => source.drop(`/silences/${one.id}`), "The silence has ended.");
  const add = (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const matchers = String(form.get("matchers")).split(/\s*,\s*|\n/).filter(Boolean);
    attempt(() => source.say("/silences", { matchers, minutes: Number(form.get("minutes")), why: String(form.get("why")) }), "Silenced.");
  };
  fill(acts, Promise.all([optional(source, "actions", "/actions"), hooks]), ([found, known]) => showActions(found, known));
  fill(quiet, optional(source, "silences", "/silences"), (found) => (found ? silenceTable(found.items, end) : none()));
  fill(told, optional(source, "notifications", "/notifications", { limit: 300 }), (found) => (found ? letters(found.items) : none()));
  const form = h("form", { class: "knobs", onsubmit: add },
    h("label", { for: "matchers" }, "Silence"), h("input", { type: "text", id: "matchers", name: "matchers", required: true, placeholder: "host=~server1.*, severity=warning", size: 34 }),
    h("label", { for: "minutes" }, "for"), h("select", { id: "minutes", name: "minutes" }, [[60, "1 hour"], [240, "4 hours"], [1440, "1 day"], [10080, "1 week"]].map(([value, label]) => h("option", { value }, label))),
    h("label", { for: "why" }, "because"), h("input", { type: "text", id: "why", name: "why", maxlength: 4000 }), h("button", { class: "primary small", type: "submit" }, "Silence"));
  const node = h(
    "div",
    { class: "page" },
    h("header", { class: "title" }, h("h1", {}, "Alerts"), h("p", { class: "note" }, reach(board)), said),
    section("Actions", { id: "actions", wide: true, note: "nothing is done before somebody approves it", tools: exports(source, "/actions") }, acts),
    section("Silences", { id: "silences", wide: true, note: "findings stay on the pages", tools: exports(source, "/silences") }, form, quiet),
    section("Notifications", { id: "notifications", wide: true, note: "the newest first, of 30 days", tools: exports(source, "/notifications", { limit: 1000 }) }, told),
  );
  return { title: "Alerts", node };
}

function silenceTable(items, end) {
  const shown = items.filter((one) => one.state !== "ended");
  const over = items.length - shown.length;
  const rest = over ? h("p", { class: "note" }, `${count(over)} ended in the last 30 days`) : null;
  if (!shown.length) return [empty("Nothing is silenced."), rest];
  const columns = [
    { name: "matchers", label: "Alerts with", cell: (one) => one.matchers.join(" ") },
    { name: "state", label: "State", cell: (one) => one.state },
    { name: "end", label: "Until", cell: (one) => moment(one.end_ns) },
    { name: "by", label: "By", cell: (one) => [one.by || "–", one.why ? h("small", {}, ` ${one.why}`) : null] },
    { name: "matches", label: "Matches now", cell: (one) => (one.matches.length ? one.matches.slice(0, 5).map((each) => h("div", {}, h("a", { href: link(["findings", each.finding]) }, each.summary))).concat(one.matches.length > 5 ? `and ${count(one.matches.length - 5)} more` : "") : "nothing") },
    { name: "end-it", label: "Action", cell: (one) => h("button", { type: "button", class: "icon", onclick: () => end(one), "aria-label": `End the silence of ${one.matchers.join(" ")}` }, "End") },
  ];
  return [table(columns, shown, { key: (one) => one.id }), rest];
}

function letters(items) {
  if (!items.length) return empty("Nobody was notified of anything yet.");
  const columns = [
    { name: "made", label: "Made", cell: (one) => moment(one.made_ns) },
    { name: "receiver", label: "Receiver", cell: (one) => one.receiver },
    { name: "summary", label: "What", cell: (one) => [one.findings.length ? h("a", { href: link(["findings", one.findings[0]]) }, one.summary) : one.summary, h("small", {}, ` ${one.reason}`)] },
    { name: "state", label: "Delivery", cell: (one) => [h("span", { class: one.state === "dead" ? "bad" : one.state === "sent" ? "good" : "severity warning" }, STATES[one.state]), h("small", {}, ` ${one.tries} ${one.tries === 1 ? "attempt" : "attempts"}${one.error ? `: ${one.error}` : ""}${one.next_ns ? `, next ${moment(one.next_ns)}` : ""}`)] },
  ];
  return table(columns, items, { key: (one) => one.id });
}
