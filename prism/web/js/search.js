// Search box for jobs, users, hosts, racks, addresses, switches and findings by a part of their name.

import { h } from "./dom.js";
import { redraw } from "./patch.js";
import { link } from "./state.js";

const PATIENCE_MS = 120; // ms between typing and the request
const MOST = 12;
const NAMES = { endpoint: "address" };

/** Returns the target of a result. */
export function whither(one) {
  if (one.type === "job") return link(["jobs", one.id]);
  if (one.type === "finding") return link(["findings", one.id]);
  if (["user", "queue"].includes(one.type)) return link([], { filter: one.id });
  return link(["places", one.type, one.id]);
}

/** The box: a combobox with a list of links (WAI-ARIA, editable combobox with list autocomplete). */
export function searchBox(source) {
  const list = h("ul", { class: "found", id: "found", role: "listbox", "aria-label": "Results", hidden: true });
  const input = h("input", {
    type: "search", id: "search", placeholder: "Search  Ctrl K", autocomplete: "off", spellcheck: "false", role: "combobox", maxlength: 200,
    "aria-label": "Search jobs, hosts, users, addresses, switches and findings", "aria-expanded": "false", "aria-controls": "found", "aria-autocomplete": "list",
    oninput: () => later(), onkeydown: (event) => pressed(event), onfocus: () => { if (input.value.trim()) later(); },
  });
  const box = h("div", { class: "search", role: "search" }, input, list);
  const state = { items: [], at: -1, asked: 0, timer: null };

  function later() {
    clearTimeout(state.timer);
    state.timer = setTimeout(ask, PATIENCE_MS);
  }
  async function ask() {
    const text = input.value.trim();
    const turn = (state.asked += 1);
    if (!text) return hide();
    let items = [];
    let wrong = null;
    try {
      ({ items } = await source.get("/search", { q: text, limit: MOST }));
    } catch (error) {
      wrong = error.message;
    }
    if (turn === state.asked) show(items, wrong);
    return undefined;
  }
  function show(items, wrong) {
    [state.items, state.at] = [items, -1];
    draw(wrong);
  }
  function hide() { // the list keeps its content: a link in it may have the focus
    list.hidden = true;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
    state.items = [];
  }
  function draw(wrong = null) {
    const rows = state.items.map((one, at) => h("li", { key: `${one.type} ${one.id}`, role: "presentation" },
      h("a", { role: "option", id: `found-${at}`, "aria-selected": String(at === state.at), href: whither(one), tabindex: -1, onclick: close }, h("b", {}, one.title), h("span", { class: "type" }, NAMES[one.type] ?? one.type), h("small", {}, one.detail))));
    redraw(list, rows.length ? rows : h("li", { class: "empty" }, wrong ?? "Nothing has such a name."));
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
    if (state.at >= 0) input.setAttribute("aria-activedescendant", `found-${state.at}`);
    else input.removeAttribute("aria-activedescendant");
  }
  function close() {
    state.asked += 1;
    hide();
    input.value = "";
  }
  function pressed(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && state.items.length) {
      event.preventDefault();
      state.at = (state.at + step + state.items.length + (state.at < 0 && step < 0 ? 1 : 0)) % state.items.length;
      draw();
    } else if (event.key === "Enter" && state.items.length) {
      event.preventDefault();
      location.hash = whither(state.items[Math.max(0, state.at)]);
      close();
      input.blur();
    } else if (event.key === "Escape") close();
  }
  box.addEventListener("focusout", (event) => { if (!box.contains(event.relatedTarget)) hide(); });
  return box;
}
