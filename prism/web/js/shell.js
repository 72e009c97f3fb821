// What is around every page: name, places, state of the connection, theme, help; and the page itself, fetched again when it ages.

import { empty, h } from "./dom.js";
import { count, duration, moment } from "./format.js";
import { listenKeys } from "./keys.js";
import { signIn } from "./pages/signin.js";
import { here, link } from "./state.js";

const STALE_S = 120; // an analysis that came so long ago is said to be stale, unless windows are longer
const PATIENCE_MS = 150; // boards that follow one another sooner are shown together

/**
 * Runs the pages. `pages`: {name: page(context)}, where a page returns {title, node, steady}: `steady` where it shows nothing of the board; `places`: [[name, label, key]].
 * `source` as in source.js.
 */
export function run(source, pages, places) {
  const main = h("main", { id: "main", tabindex: -1 });
  const status = h("p", { class: "status", role: "status" });
  const notice = h("div", { class: "notices" });
  const nav = h("nav", { "aria-label": "Pages" });
  const help = listenKeys(places, { theme: turn });
  const tools = h("div", { class: "tools" }, status, button("◐", "Change between light and dark (t)", turn), button("?", "Keys (?)", help));
  const head = h("header", { class: "top" }, h("a", { class: "skip", href: "#main", onclick: skip }, "To the content"), h("a", { class: "brand", href: "#/" }, mark(), "Prism"), nav, tools);
  document.body.append(head, notice, main);
  const shown = { board: null, at: 0, connected: true, visit: 0, timer: null, stop: null, place: null };

  function skip(event) {
    event.preventDefault();
    main.focus();
  }

  async function show({ again: asked = false } = {}) {
    const visit = (shown.visit += 1);
    const again = asked && shown.place === where(); // what was never drawn is not drawn again
    const { parts, query } = here();
    const name = pages[parts[0] ?? "overview"] ? (parts[0] ?? "overview") : "missing";
    nav.replaceChildren(...places.map(([place, label]) => h("a", { href: link(place === "overview" ? [] : [place]), "aria-current": place === placeOf(name) ? "page" : null }, label)));
    const pending = [];
    const context = { source, parts, query, again, refresh: () => show({ again: true }), pending, fill: (box, promise, draw) => pending.push(filled(box, promise, draw)) };
    if (!again) main.setAttribute("aria-busy", "true");
    const board = await boardOf(source, shown);
    if (visit !== shown.visit) return undefined;
    if (shown.locked) {
      put(main, signIn(source, () => location.reload()), false);
      main.dataset.ready = String(visit);
      return undefined;
    }
    shown.stop ??= listen();
    tell();
    if (again && shown.steady) return undefined; // it shows nothing of the board, and what somebody chose there stays
    let page;
    try {
      page = await (pages[name] ?? missing)({ ...context, board });
    } catch (error) {
      page = { title: "Not there", node: failure(error) };
    }
    if (visit !== shown.visit) return undefined;
    if (again) await Promise.all(pending);
    if (again) await released(); // nothing is pulled away from under a pointer that drags
    if (visit !== shown.visit) return undefined;
    put(main, page, again);
    [shown.place, shown.steady] = [where(), page.steady];
    main.removeAttribute("aria-busy");
    await Promise.all(pending);
    if (visit === shown.visit) main.dataset.ready = String(visit);
    return undefined;
  }

  function tell() {
    const { board, connected } = shown;
    const age = board?.age_s === null || !board ? null : board.age_s + (performance.now() - shown.at) / 1000;
    const usual = Math.max(STALE_S, 4 * (shown.window_s ?? 0));
    const stale = board?.mode === "live" && age !== null && age > usual;
    const replay = here().query.replay;
    status.className = `status ${!connected ? "lost" : stale ? "stale" : "fresh"}`;
    if (!source.live) status.textContent = "report";
    else if (!connected) status.textContent = "connection lost, trying again";
    else if (!board) status.textContent = "no answer";
    else if (board.mode === "replay" || replay) status.textContent = "replay";
    else status.textContent = age === null || board.revision === 0 ? "live" : `live, ${age < 100 ? `${Math.round(age)} s` : duration(age * 1000)} old`;
    const said = [];
    if (stale) said.push(h("p", { class: "notice stale" }, `▲ Stale: the newest analysis is ${duration(age * 1000)} old. Look at `, h("a", { href: link(["health"]) }, "Health"), "."));
    if (!connected) said.push(h("p", { class: "notice lost" }, "▲ The service does not answer. What is shown is what was known last."));
    if (replay) said.push(h("p", { class: "notice" }, `This is replay ${replay}, not what runs now. `, h("a", { href: "#/" }, "Back to the newest")));
    notice.replaceChildren(...said);
  }

  const listen = () => source.listen({
    board: (news) => {
      clearTimeout(shown.timer);
      if (here().query.replay || news.revision === shown.board?.revision) return;
      shown.timer = setTimeout(() => show({ again: true }), PATIENCE_MS);
    },
    replay: (news) => document.dispatchEvent(new CustomEvent("replay", { detail: news })),
    state: (connected) => {
      const back = connected && !shown.connected;
      shown.connected = connected;
      tell();
      if (back) show({ again: true });
    },
  });
  window.addEventListener("pagehide", () => shown.stop?.());
  window.addEventListener("hashchange", () => show());
  setInterval(tell, 5000);
  return show();
}

/** Once no button of the pointer is pressed. */
function released() {
  if (!document.querySelector("main :active")) return Promise.resolve();
  return new Promise((go) => { document.addEventListener("pointerup", go, { once: true }); });
}

/** Which page this is, whatever is chosen on it. */
function where() {
  const { parts, query } = here();
  return [query.replay ?? "", ...parts].join("/");
}

const placeOf = (name) => ({ jobs: "overview", missing: "" })[name] ?? name;

async function boardOf(source, shown) {
  try {
    shown.board = await source.get("/board");
    shown.at = performance.now();
    shown.locked = false;
  } catch (error) {
    shown.locked = error.status === 401;
    shown.connected = error.status !== 0;
  }
  return shown.board;
}

/** Puts a page in place; where it was there before, what had the focus has it again and nothing scrolls. */
function put(main, page, again) {
  document.title = `${page.title} · Prism`;
  const focused = again ? document.activeElement : null;
  const unfolded = again ? [...main.querySelectorAll("details")].map((one) => one.open) : [];
  const kept = focused?.id && main.contains(focused) ? { id: focused.id, start: focused.selectionStart, end: focused.selectionEnd } : null;
  const scroll = [window.scrollX, window.scrollY];
  const least = main.offsetHeight;
  if (again) main.style.setProperty("min-height", `${least}px`);
  main.replaceChildren(page.node);
  if (!again) return window.scrollTo(0, 0);
  main.querySelectorAll("details").forEach((one, at) => { one.open = unfolded[at] ?? one.open; });
  if (kept) {
    const found = document.getElementById(kept.id);
    found?.focus({ preventScroll: true });
    if (kept.start !== null && kept.start !== undefined) found?.setSelectionRange?.(kept.start, kept.end);
  }
  requestAnimationFrame(() => {
    window.scrollTo(...scroll);
    main.style.removeProperty("min-height");
  });
  return undefined;
}

/** Fills a box once its data is there; what went wrong is said in its place. */
async function filled(box, promise, draw) {
  try {
    const data = await promise;
    box.replaceChildren();
    draw(box, data);
  } catch (error) {
    box.replaceChildren(failure(error));
  }
}

function failure(error) {
  if (!error.status && error.status !== 0) console.error(error);
  return h("div", { class: "failure" }, h("p", {}, error.status === 404 ? "Nothing is known under this address: it may have ended long ago, or the link is wrong." : error.message), h("p", {}, h("a", { href: link([]) }, "To the overview")));
}

const missing = () => ({ title: "Not there", node: empty("There is no such page. ", h("a", { href: "#/" }, "To the overview")) });

/** Changes between light and dark, and remembers it. */
function turn() {
  const root = document.documentElement;
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  try {
    localStorage.setItem("prism-theme", root.dataset.theme);
  } catch {
    // storage may be refused
  }
  document.dispatchEvent(new CustomEvent("themechange"));
}

const button = (sign, label, act) => h("button", { type: "button", class: "icon", title: label, "aria-label": label, onclick: act }, sign);

const mark = () => h("span", { class: "mark", "aria-hidden": "true" });

/** The line under a page's title: what was read, up to when. */
export function reach(board) {
  if (!board) return "";
  const { source } = board;
  if (board.mode === "live") return board.at_ns === "0" ? "Nothing was analysed yet." : `Analysed up to ${moment(board.at_ns)}`;
  const files = source.files.length ? source.files.map((name) => name.split("/").at(-1)).join(", ") : "no files";
  return `${files}: ${source.packets ? `${count(source.packets)} packets in ` : ""}${count(source.flows)} flow records from ${moment(source.start_ns)}`;
}
