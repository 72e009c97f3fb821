// Keyboard: g and a letter opens a page, / filters, j and k move through rows, ? shows help.

import { h } from "./dom.js";
import { link } from "./state.js";

/**
 * Listens for keys; returns a function that opens the help. places: [[name, label, key]]; `theme()` changes the theme, `pause()` stops or
 * resumes live updates.
 */
export function listenKeys(places, { theme, pause }) {
  const lines = [
    ...places.map(([, label, key]) => [`g ${key}`, label]),
    ["/", "Filter"],
    ["Ctrl K", "Search everywhere"],
    ["j  k", "Next, previous row"],
    ["Enter", "Open it"],
    ["+  −", "Zoom the timeline that has the focus"],
    ["←  →", "Move it; choose a step in the bars that have the focus"],
    ["Shift ←  Shift →", "Choose fewer or more steps"],
    ["0", "All of it"],
    ["t", "Light or dark"],
    ["p", "Pause or resume live updates"],
    ["?", "This help"],
    ["Esc", "Close; leave the filter"],
  ];
  const close = h("button", { type: "button", class: "icon", "aria-label": "Close", onclick: () => box.close() }, "✕");
  const list = h("dl", {}, lines.map(([key, what]) => h("div", {}, h("dt", {}, key.split("  ").map((one) => h("kbd", {}, one))), h("dd", {}, what))));
  const box = h("dialog", { class: "help", "aria-label": "Keys" }, h("header", {}, h("h2", {}, "Keys"), close), list);
  document.body.append(box);
  const help = () => (box.open ? box.close() : box.showModal());
  const pages = Object.fromEntries(places.map(([name, , key]) => [key, name]));
  const keys = {
    "?": help,
    t: theme,
    p: pause,
    "/": () => (document.querySelector("main input[type=search]") ?? document.getElementById("search"))?.focus(),
    j: () => walk(1),
    k: () => walk(-1),
  };
  let went = 0;
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "k" && document.getElementById("search")) {
      event.preventDefault();
      document.getElementById("search").focus();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape" && event.target.matches("input")) return event.target.blur();
    if (event.target.matches("input, select, textarea")) return;
    if (performance.now() - went < 1500 && pages[event.key]) {
      went = 0;
      event.preventDefault();
      location.hash = link(pages[event.key] === "overview" ? [] : [pages[event.key]]);
      return;
    }
    if (event.key === "g") went = performance.now();
    else if (keys[event.key]) {
      event.preventDefault();
      keys[event.key]();
    }
  });
  return help;
}

/** Moves the focus to the first link of the next or the previous row. */
function walk(by) {
  const rows = [...document.querySelectorAll("main [data-row]")];
  if (!rows.length) return;
  const now = rows.findIndex((row) => row.contains(document.activeElement));
  const next = rows[Math.max(0, Math.min(rows.length - 1, now < 0 ? (by > 0 ? 0 : rows.length - 1) : now + by))];
  (next.matches("a") ? next : next.querySelector("a"))?.focus();
}
