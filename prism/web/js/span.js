// Time machine: live, or a past time range that is diagnosed again; the range is part of the address.

import { h } from "./dom.js";
import { moment, zone } from "./format.js";
import { redraw } from "./patch.js";
import { here, link, past } from "./state.js";

const POLL_MS = 500;
const QUICK = [[15, "15 min"], [60, "1 hour"], [360, "6 hours"], [1440, "1 day"]];

/** Text of the button for the current range. */
export function spanShown() {
  const { from, to, replay } = here().query;
  if (from && to) return `${moment(from, { brief: true })} – ${moment(to, { brief: true })}`;
  return replay ? "replay" : "live";
}

/** A dialog that chooses the range; returns a function that opens it. `newest()`: time of the newest analysis, text of ns. */
export function spanPicker(newest) {
  const said = h("p", { class: "bad", role: "alert", hidden: true });
  const from = h("input", { type: "datetime-local", id: "span-from", step: 1, required: true });
  const to = h("input", { type: "datetime-local", id: "span-to", step: 1, required: true });
  const utc = h("select", { id: "span-zone" }, h("option", { value: "local" }, "local time"), h("option", { value: "utc" }, "UTC"));
  const hints = h("textarea", { id: "span-hints", rows: 4, spellcheck: "false", placeholder: '{"site": {"gpus_per_host": 8}}' });
  const close = h("button", { type: "button", class: "icon", "aria-label": "Close", onclick: () => box.close() }, "✕");
  const quick = QUICK.map(([minutes, words]) => h("button", { type: "button", class: "icon", onclick: () => go(minutes) }, `Last ${words}`));
  const form = h("form", { onsubmit: custom },
    h("div", { class: "knobs" }, h("button", { type: "button", class: "icon", onclick: live }, "● Live"), quick),
    h("div", { class: "knobs" }, h("label", { for: "span-from" }, "From"), from, h("label", { for: "span-to" }, "to"), to, h("label", { for: "span-zone", class: "unseen" }, "Zone"), utc),
    h("details", {}, h("summary", {}, "Other hints"), h("label", { for: "span-hints", class: "unseen" }, "Hints (JSON)"), hints),
    said, h("p", {}, h("button", { type: "submit", class: "primary" }, "Diagnose this time")));
  const box = h("dialog", { class: "help span", "aria-label": "Time" }, h("header", {}, h("h2", {}, "Time"), close), form);
  document.body.append(box);

  function chosen(input) {
    const ms = Date.parse(utc.value === "utc" ? `${input.value}Z` : input.value);
    if (!Number.isFinite(ms)) throw new Error("Choose both times.");
    return String(BigInt(ms) * 1_000_000n);
  }
  function written(ns) {
    const date = new Date(Number(BigInt(ns) / 1_000_000n));
    const own = utc.value === "utc" ? date : new Date(date.getTime() - date.getTimezoneOffset() * 60_000);
    return own.toISOString().slice(0, 19);
  }
  function leave(query) {
    const { parts } = here();
    box.close();
    location.hash = link(parts, { replay: null, from: null, to: null, hints: null, ...query });
  }
  function live() { leave({}); }
  function go(minutes) {
    const end = BigInt(newest());
    leave({ from: String(end - BigInt(minutes) * 60_000_000_000n), to: String(end) });
  }
  function custom(event) {
    event.preventDefault();
    try {
      const [start, end] = [chosen(from), chosen(to)];
      if (BigInt(end) <= BigInt(start)) throw new Error("The end must be after the start.");
      const text = hints.value.trim();
      if (text) JSON.parse(text);
      leave({ from: start, to: end, hints: text });
    } catch (error) {
      said.textContent = `▲ ${error instanceof SyntaxError ? `Hints: ${error.message}` : error.message}`;
      said.hidden = false;
    }
  }
  return () => {
    if (box.open) return box.close();
    const { query } = here();
    utc.value = zone() === "UTC" ? "utc" : "local";
    const end = query.to ?? newest();
    const start = query.from ?? String(BigInt(end) - 3_600_000_000_000n);
    [from.value, to.value, hints.value, said.hidden] = [written(start), written(end), query.hints ?? "", true];
    return box.showModal();
  };
}

/**
 * Requests the diagnosis of the range in the address, and adds its result to the address; shows progress in `main`. Returns false if there
 * is nothing to do.
 */
export async function diagnosedFirst(source, main, wanted) {
  const { from, to, replay, hints } = here().query;
  if (!from || !to || replay || !source.live) return false;
  const show = (...words) => redraw(main, h("div", { class: "page" }, h("header", { class: "title" }, h("h1", {}, `${moment(from)} – ${moment(to)}`)), ...words));
  const wrong = (text) => show(h("p", { class: "notice lost", role: "alert" }, `▲ ${text}`), h("p", {}, h("a", { href: "#/" }, "Back to live")));
  try {
    show(h("p", { role: "status" }, "This time is diagnosed again …"));
    let told = await source.say("/diagnoses", { start: from, end: to, hints: hints ? JSON.parse(hints) : null });
    while (!["done", "failed", "cancelled"].includes(told.state)) {
      await new Promise((next) => { setTimeout(next, POLL_MS); });
      if (!wanted()) return true;
      told = await source.get(`/replays/${told.id}`);
      show(h("p", { role: "status" }, `This time is diagnosed again: ${told.state === "queued" ? "waiting for its turn" : `${told.stage || "begins"}${told.total ? ` ${told.done} of ${told.total}` : ""}`} …`), h("progress", told.total ? { value: told.done / told.total, max: 1, "aria-label": "Progress" } : { "aria-label": "Progress" }));
    }
    if (told.state !== "done") wrong(told.error ?? "It was cancelled.");
    else if (wanted()) past({ replay: told.id });
  } catch (error) {
    wrong(error.message);
  }
  return true;
}
