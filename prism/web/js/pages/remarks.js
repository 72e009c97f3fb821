// Remarks on a finding: acknowledge, mark as right or false, note, silence, propose an action; and their history.

import { h } from "../dom.js";
import { moment } from "../format.js";
import { part, redraw } from "../patch.js";

const WORDS = { acknowledge: "acknowledged it", release: "took the acknowledgment back", right: "marked it as right", false: "marked it as false", note: "noted" };
const MINUTES = [[60, "1 hour"], [240, "4 hours"], [1440, "1 day"], [10080, "1 week"]];
const POLL_MS = 700;
const OVER = ["done", "failed", "rejected"];

/** Fetches a path; null without a request if the service does not offer it. */
export const optional = async (source, name, path, query) => ((await source.has(name)) ? source.get(path, query) : null);

/** Summarises remarks: {care, mark}, each the newest or null. `items`: newest first. */
export function standing(items) {
  const care = items.find((one) => one.act === "acknowledge" || one.act === "release") ?? null;
  return { care: care?.act === "acknowledge" ? care : null, mark: items.find((one) => one.act === "right" || one.act === "false") ?? null };
}

/** Signs of remarks in a line. */
export function badges(items) {
  const { care, mark } = standing(items);
  return [
    care ? h("span", { class: "badge" }, `✓ acknowledged by ${care.by}`) : null,
    mark ? h("span", { class: `badge ${mark.act === "right" ? "good" : "bad"}` }, mark.act === "right" ? "● marked right" : "○ marked false") : null,
  ];
}

/** The bar on a finding's page. `told`: {remarks, hooks, actions} or null. */
export const remarksBar = (source, id, told) => part({ class: "remarks" }, mount, { source, id, told });

function mount(root, first) {
  let props = first;
  let said = null;
  let busy = false;
  const path = `/findings/${encodeURIComponent(first.id)}/remarks`;

  async function act(does, words) {
    busy = true;
    draw();
    try {
      await does();
      said = words;
      await renew();
    } catch (error) {
      said = `▲ ${error.message}`;
    }
    busy = false;
    draw();
  }
  async function renew() {
    const [remarks, actions] = await Promise.all([props.source.get("/remarks", { finding: props.id }), props.source.get("/actions")]);
    props.told = { ...props.told, remarks: remarks.items, actions: actions.items.filter((one) => one.finding === props.id) };
    if (props.told.actions.some((one) => one.state === "approved")) setTimeout(async () => { if (!root.isConnected) return; await renew().catch(() => {}); draw(); }, POLL_MS);
  }
  const remark = (name, words) => () => act(() => props.source.say(path, { act: name, text: field("note") }).then(clear), words);
  const field = (name) => root.querySelector(`#remark-${name}`)?.value.trim() ?? "";
  const clear = () => { const box = root.querySelector("#remark-note"); if (box) box.value = ""; };
  const press = (label, does, more = {}) => h("button", { type: "button", class: "icon", disabled: busy, onclick: does, ...more }, label);

  function draw() {
    if (!props.told) return redraw(root);
    const { remarks, hooks, actions } = props.told;
    const { care, mark } = standing(remarks);
    const offered = hooks.filter((one) => one.findings.includes(props.id));
    const silence = () => act(() => props.source.say("/silences", { finding: props.id, minutes: Number(root.querySelector("#remark-minutes").value), why: field("note") }).then(clear), "Silenced: the finding stays here, nobody is notified of it.");
    return redraw(root,
      h("div", { class: "knobs", role: "group", "aria-label": "Your action" },
        care ? press("Release", remark("release", "Released."), { title: `${care.by} takes care of it` }) : press("Acknowledge", remark("acknowledge", "Acknowledged: it is not notified again until it gets worse or is over."), { title: "I take care of it" }),
        press("It is right", remark("right", "Marked as right, with its evidence."), { "aria-pressed": String(mark?.act === "right") }),
        press("It is false", remark("false", "Marked as false, with its evidence."), { "aria-pressed": String(mark?.act === "false") }),
        h("label", { for: "remark-note", class: "unseen" }, "Note"),
        h("input", { id: "remark-note", type: "text", maxlength: 4000, placeholder: "Note, reason", onkeydown: (event) => { if (event.key === "Enter") remark("note", "Noted.")(); } }),
        press("Note", () => (field("note") ? remark("note", "Noted.")() : root.querySelector("#remark-note").focus())),
        h("label", { for: "remark-minutes", class: "unseen" }, "How long to silence"),
        h("select", { id: "remark-minutes" }, MINUTES.map(([minutes, label]) => h("option", { value: minutes }, label))),
        press("Silence", silence),
        offered.map((hook) => [
          press(`${hook.title} (dry run)`, () => act(() => props.source.say("/actions", { hook: hook.name, finding: props.id }), "Proposed: it waits for approval."), { key: `${hook.name}-dry` }),
          hook.dry_run ? null : press(`${hook.title}`, () => act(() => props.source.say("/actions", { hook: hook.name, finding: props.id, dry_run: false }), "Proposed: it waits for approval."), { key: hook.name }),
        ])),
      h("p", { class: "note", role: "status" }, said ?? ""),
      actions.length ? h("ul", { class: "plain trail" }, actions.map((one) => actionRow(one, hooks, decide))) : null,
      remarks.length ? h("ul", { class: "plain trail" }, remarks.map((one) => h("li", { key: one.id }, h("b", {}, one.by), ` ${WORDS[one.act]} `, h("small", {}, moment(one.at_ns)), one.text ? h("p", { class: "words" }, one.text) : null))) : null,
    );
  }
  const decide = (one, approved) => act(() => props.source.say(`/actions/${one.id}`, { approved }), approved ? "Approved." : "Rejected.");
  draw();
  return { update(next) { props = { ...next, told: next.told ?? props.told }; if (!busy) draw(); } };
}

/** An action with its audit trail, and buttons if it waits for approval. */
export function actionRow(one, hooks, decide) {
  const title = hooks.find((hook) => hook.name === one.hook)?.title ?? one.hook;
  const signs = { proposed: "◌", approved: "◔", done: "●", failed: "■", rejected: "○" };
  return h("li", { key: one.id, class: `action ${one.state}`, "data-action": one.id },
    h("b", {}, `${title}: ${one.targets.join(", ")}`), one.dry_run ? " (dry run) " : " ",
    h("span", { class: `state ${one.state === "failed" ? "bad" : one.state === "done" ? "good" : ""}` }, `${signs[one.state]} ${one.state}`), " ",
    one.state === "proposed" ? [h("button", { type: "button", class: "primary small", onclick: () => decide(one, true) }, "Approve"), " ", h("button", { type: "button", class: "icon", onclick: () => decide(one, false) }, "Reject")] : null,
    h("small", {}, " ", one.trail.map((change) => `${change.state} by ${change.by} ${moment(change.at_ns)}${change.text ? ` (${change.text})` : ""}`).join(", ")));
}

/** Checks whether an action is still open. */
export const goesOn = (one) => !OVER.includes(one.state);
