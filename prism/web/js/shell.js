// The frame of every page: name, navigation, connection state, theme, help; and the page itself, updated in place.

import { empty, h } from "./dom.js";
import { count, duration, moment, zoned } from "./format.js";
import { released } from "./keep.js";
import { listenKeys } from "./keys.js";
import { signIn } from "./pages/signin.js";
import { redraw } from "./patch.js";
import { searchBox } from "./search.js";
import { diagnosedFirst, spanPicker, spanShown } from "./span.js";
import { here, link, note } from "./state.js";

const STALE_S = 120; // s without a new analysis until the page is marked stale, unless windows are longer
const PATIENCE_MS = 150; // boards within this time are shown together

/**
 * Runs the pages. `pages`: {name: page(context)}, where a page returns {title, node, steady}: `steady` if it shows nothing of the board;
 * `places`: [[name, label, key]]. `source` as in source.js.
 */
export function run(source, pages, places) {
  const main = h("main", { id: "main", tabindex: -1 });
  const status = h("p", { class: "status" });
  const news = h("p", { class: "unseen", role: "status" }); // for screen readers: new findings only, not each new board
  const notice = h("div", { class: "notices" });
  const nav = h("nav", { "aria-label": "Pages" });
  const help = listenKeys(places, { theme: turn, pause });
  const halt = button("❚❚", "Pause live updates (p)", pause);
  const pickTime = source.live ? spanPicker(() => (shown.board && shown.board.mode === "live" && shown.board.at_ns !== "0" ? shown.board.at_ns : String(BigInt(Date.now()) * 1_000_000n))) : null;
  const clock = h("button", { type: "button", class: "icon clock", title: "Time that is shown", onclick: () => pickTime() }, "◷");
  const tools = h("div", { class: "tools" }, status, source.live ? [clock, halt] : null, button("◐", "Change between light and dark (t)", turn), button("?", "Keys (?)", help));
  const head = h("header", { class: "top" }, h("a", { class: "skip", href: "#main", onclick: skip }, "To the content"), h("a", { class: "brand", href: "#/" }, mark(), "Prism"), nav, source.live ? searchBox(source) : null, tools);
  document.body.append(head, notice, news, main);
  const shown = { board: null, at: 0, connected: true, visit: 0, timer: null, stop: null, place: null, drawn: 0, paused: null, held: 0 };

  function skip(event) {
    event.preventDefault();
    main.focus();
  }

  /** Stops live updates of every page; a second call resumes them with the newest data. */
  function pause() {
    if (!source.live) return;
    [shown.paused, shown.held] = [shown.paused === null ? Date.now() : null, 0];
    tell();
    if (shown.paused === null) show({ again: true });
  }

  function hold(updates) {
    shown.held += updates;
    tell();
  }

  async function show({ again: asked = false } = {}) {
    if (asked && shown.paused !== null) return undefined;
    const visit = (shown.visit += 1);
    const address = location.hash;
    if (shown.paused !== null) [shown.paused, shown.held] = [Date.now(), 0]; // another page is as new as its first display
    const again = asked && shown.place === where(); // a page that was never drawn is not updated
    const { parts, query } = here();
    const name = pages[parts[0] ?? "overview"] ? (parts[0] ?? "overview") : "missing";
    redraw(nav, places.map(([place, label]) => h("a", { href: link(place === "overview" ? [] : [place]), "aria-current": place === placeOf(name) ? "page" : null }, label)));
    const pending = [];
    const context = { source, parts, query, fill: (box, promise, draw) => pending.push(filled(box, promise, draw, () => visit >= shown.drawn)) };
    if (!again) main.setAttribute("aria-busy", "true");
    if (!again && await diagnosedFirst(source, main, () => visit === shown.visit)) {
      main.removeAttribute("aria-busy");
      main.dataset.ready = String(visit);
      return undefined;
    }
    const board = await boardOf(source, shown);
    if (visit !== shown.visit) return undefined;
    if (shown.locked) {
      put(main, signIn(source, () => location.reload()), false);
      main.dataset.ready = String(visit);
      return undefined;
    }
    shown.stop ??= listen();
    tell();
    if (again && shown.steady) return undefined; // it shows nothing of the board, and user input on it stays
    let page;
    try {
      page = await (pages[name] ?? missing)({ ...context, board });
    } catch (error) {
      page = { title: "Not there", node: failure(error) };
    }
    if (visit !== shown.visit) return undefined;
    if (again) await Promise.all(pending);
    if (again) await released(main);
    if (visit !== shown.visit) return undefined;
    if (again && shown.paused !== null) return hold(1);
    if (again && location.hash !== address) return show({ again }); // the user selected something else meanwhile
    put(main, page, again);
    [shown.place, shown.steady, shown.drawn] = [where(), page.steady, visit];
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
    const held = shown.held ? `, ${count(shown.held)} ${shown.held === 1 ? "update" : "updates"} held back` : "";
    const label = shown.paused === null ? "Pause live updates (p)" : `Resume live updates (p)${held}`;
    for (const name of ["title", "aria-label"]) halt.setAttribute(name, label);
    halt.setAttribute("aria-pressed", String(shown.paused !== null));
    redraw(halt, shown.paused === null ? "❚❚" : `▶${shown.held ? ` ${count(shown.held)}` : ""}`);
    status.className = `status ${!connected ? "lost" : stale ? "stale" : "fresh"}`;
    let words;
    if (!source.live) words = "report";
    else if (!connected) words = "connection lost, trying again";
    else if (!board) words = "no answer";
    else if (board.mode === "replay" || replay) words = "replay";
    else words = age === null || board.revision === 0 ? "live" : `live, ${age < 100 ? `${Math.round(age)} s` : duration(age * 1000)} old`;
    redraw(status, words);
    const said = [];
    if (stale) said.push(h("p", { key: "stale", class: "notice stale" }, `▲ Stale: the newest analysis is ${duration(age * 1000)} old. Look at `, h("a", { href: link(["health"]) }, "Health"), "."));
    if (!connected) said.push(h("p", { key: "lost", class: "notice lost" }, "▲ The service does not answer. The page shows the last known state."));
    if (shown.paused !== null) said.push(h("p", { key: "paused", class: "notice paused" }, `❚❚ Paused: this page is as it was at ${moment(String(BigInt(shown.paused) * 1_000_000n), { brief: true })}${zoned()}${held}.${shown.held ? " Newer results have come since." : ""} Press p to resume.`));
    if (replay) said.push(h("p", { key: "replay", class: "notice" }, here().query.from ? `This is what ran from ${moment(here().query.from)} to ${moment(here().query.to)}, diagnosed again. ` : `This is replay ${replay}, not what runs now. `, h("a", { href: "#/" }, "Back to the newest")));
    redraw(notice, said);
    redraw(clock, `◷ ${spanShown()}`);
  }

  /** Announces new findings to screen readers, a single one by its title; never the same text twice, which would not be read. */
  async function announce(opened) {
    if (!opened.length) return;
    let title = "";
    try {
      if (opened.length === 1) title = `: ${(await source.get(`/findings/${encodeURIComponent(opened[0].id)}`)).finding.title}`;
    } catch {
      // it may be gone already; announce its number
    }
    news.textContent = "";
    setTimeout(() => { news.textContent = `${count(opened.length)} new ${opened.length === 1 ? "finding" : "findings"}${title}`; }, PATIENCE_MS);
  }

  const listen = () => source.listen({
    board: (told) => {
      announce((told.changed?.findings ?? []).filter((one) => one.what === "opened"));
      clearTimeout(shown.timer);
      if (here().query.replay || told.revision === shown.board?.revision) return;
      if (shown.paused !== null) {
        hold(1 + (told.missed ?? 0));
        return;
      }
      shown.timer = setTimeout(() => (shown.paused === null ? show({ again: true }) : hold(1)), PATIENCE_MS);
    },
    replay: (told) => main.firstElementChild?.dispatchEvent(new CustomEvent("replay", { detail: told })),
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

/** Returns the name of the current page, without its parameters. */
function where() {
  const { parts, query } = here();
  return [query.replay ?? "", ...parts].join("/");
}

const placeOf = (name) => ({ jobs: "overview", places: "", compare: "", incidents: "findings", missing: "" })[name] ?? name;

async function boardOf(source, shown) {
  try {
    shown.board = await source.get("/board");
    shown.at = performance.now();
    shown.locked = false;
  } catch (error) {
    const { replay, from, to } = here().query;
    if (error.status === 404 && replay && from && to) { // its result is no longer stored: diagnose again
      note({ replay: null });
      window.dispatchEvent(new HashChangeEvent("hashchange"));
    }
    shown.locked = error.status === 401;
    shown.connected = error.status !== 0;
  }
  return shown.board;
}

/** Displays a page; if it is displayed already, only its changes are applied. */
function put(main, page, again) {
  document.title = `${page.title} · Prism`;
  if (again) return redraw(main, page.node);
  main.replaceChildren(page.node);
  return window.scrollTo(0, 0);
}

/** Fills a box with `draw(data)` once the data arrived, unless another page is displayed; shows an error instead. */
async function filled(box, promise, draw, wanted) {
  let made;
  try {
    made = draw(await promise);
  } catch (error) {
    made = failure(error);
  }
  if (wanted()) redraw(box, made);
}

function failure(error) {
  if (!error.status && error.status !== 0) console.error(error);
  return h("div", { class: "failure" }, h("p", {}, error.status === 404 ? "Nothing is known under this address: it may have ended long ago, or the link is wrong." : error.message), h("p", {}, h("a", { href: link([]) }, "To the overview")));
}

const missing = () => ({ title: "Not there", node: empty("There is no such page. ", h("a", { href: "#/" }, "To the overview")) });

/** Switches between light and dark, and stores the choice. */
function turn() {
  const root = document.documentElement;
  root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
  try {
    localStorage.setItem("prism-theme", root.dataset.theme);
  } catch {
    // storage may be unavailable
  }
  document.dispatchEvent(new CustomEvent("themechange"));
}

const button = (sign, label, act) => h("button", { type: "button", class: "icon", title: label, "aria-label": label, onclick: act }, sign);

const mark = () => h("span", { class: "mark", "aria-hidden": "true" });

/** The line under a page's title: input and its end. */
export function reach(board) {
  if (!board) return "";
  const { source } = board;
  if (board.mode === "live") return board.at_ns === "0" ? "Nothing was analysed yet." : `Analysed up to ${moment(board.at_ns)}`;
  const files = source.files.length ? source.files.map((name) => name.split("/").at(-1)).join(", ") : "no files";
  return `${files}: ${source.packets ? `${count(source.packets)} packets in ` : ""}${count(source.flows)} flow records from ${moment(source.start_ns)}`;
}
