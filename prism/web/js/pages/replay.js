// Replay: drop captures or dumps, watch their progress, open their report.

import { empty, h, section } from "../dom.js";
import { count, octets, percent } from "../format.js";
import { redraw } from "../patch.js";

const POLL_MS = 1000;

/** The page. */
export async function replay({ source, fill }) {
  const chosen = h("div", { class: "box", "aria-live": "polite" });
  const runs = h("div", { class: "box", "aria-live": "polite" });
  const input = h("input", { type: "file", multiple: true, id: "files", class: "hidden", "aria-label": "Files", tabindex: -1, onchange: () => choose([...input.files]) });
  const drop = h("div", { class: "drop", tabindex: 0, role: "button", onclick: () => input.click() }, h("strong", {}, "Drop captures or flow records here"), h("span", {}, "or click to choose: pcap, pcapng, CSV, JSON Lines, Parquet, nfdump, Zeek, plain or .gz, .zst; one file per switch, and the topology (topology.json, .yaml or .csv) and hints (hints.json or .yaml) with them"));
  let files = [];

  function choose(some) {
    files = [...files, ...some.filter((one) => !files.some((other) => other.name === one.name))];
    draw();
  }
  function draw(error = null, sending = false) {
    const rows = files.map((file) => h("li", { key: file.name }, file.name, " ", h("small", {}, octets(file.size)), isTopology(file) ? h("small", {}, " topology") : isHints(file) ? h("small", {}, " hints") : isLog(file) ? h("small", {}, " training log") : null, " ", h("button", { type: "button", class: "link", "aria-label": `Leave out ${file.name}`, onclick: () => { files = files.filter((one) => one !== file); draw(); } }, "leave out")));
    const go = h("button", { type: "button", class: "primary", id: "go", disabled: sending || !files.some((one) => !isTopology(one)), onclick: send }, sending ? "Sending …" : "Replay");
    redraw(chosen, error ? h("p", { key: "error", class: "notice lost" }, `▲ ${error}`) : null, files.length ? [h("ul", { class: "files" }, rows), h("p", {}, go)] : null);
  }
  async function send() {
    const body = new FormData();
    for (const file of files) body.append(isTopology(file) ? "topology" : isHints(file) ? "hints" : isLog(file) ? "logs" : "files", file, file.name);
    draw(null, true);
    try {
      const { place, body: told } = await source.send("/replays", body);
      const id = told?.id ?? place.split("/").at(-1);
      files = [];
      draw();
      watch(id);
    } catch (error) {
      draw(error.message);
    }
  }
  drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => { event.preventDefault(); drop.classList.remove("over"); choose([...event.dataTransfer.files]); });
  drop.addEventListener("keydown", (event) => { if (["Enter", " "].includes(event.key)) { event.preventDefault(); input.click(); } });

  const known = new Map(); // last known state of each replay
  const cards = () => {
    const made = [...known.values()].map((told) => card(told, () => cancel(told))).reverse();
    return made.length ? made : empty("Nothing was sent yet.");
  };
  const show = (told) => {
    if (over(known.get(told.id)?.state) && !over(told.state)) return; // an older answer that arrived after the end
    known.set(told.id, told);
    redraw(runs, cards());
  };
  async function cancel(told) {
    try {
      await source.drop(`/replays/${told.id}`);
      show({ ...told, state: "cancelled" });
    } catch (error) {
      show({ ...told, error: error.message });
    }
  }
  async function watch(id) {
    try {
      const told = await source.get(`/replays/${id}`);
      show(told);
      if (!over(told.state)) setTimeout(() => runs.isConnected && watch(id), POLL_MS);
    } catch (error) {
      show({ id, state: "failed", error: error.message, files: [] });
    }
  }
  fill(runs, source.get("/replays"), ({ items }) => {
    items.filter((one) => !known.has(one.id)).forEach((one) => known.set(one.id, one));
    return cards();
  });
  const node = h(
    "div",
    { class: "page", onreplay: (event) => show(event.detail) },
    h("header", { class: "title" }, h("h1", {}, "Replay"), h("p", { class: "note" }, "Captures and flow records are analysed here and shown like live traffic. Nothing leaves this service.")),
    section("Files", { id: "send", wide: true }, drop, input, chosen),
    section("Replays", { id: "replays", wide: true }, runs),
  );
  return { title: "Replay", node, steady: true };
}

const over = (state) => ["done", "failed", "cancelled"].includes(state);

/** Topology and hints are recognised by file name; all other files are data. */
const isHints = (file) => /^hints[^/]*\.(json|ya?ml)$/i.test(file.name);
const isLog = (file) => /\.(log|out|err|txt|journal)(\.(gz|zst|bz2|xz))?$/i.test(file.name) && !/^(conn|zeek)[^/]*\.log/i.test(file.name);
const isTopology = (file) => /^topology[^/]*\.(json|ya?ml|csv)$/i.test(file.name);

function card({ id, state, stage, done, total, error, files, incident }, cancel) {
  const share = total ? done / total : null;
  const words = { queued: "◌ waiting for its turn", cancelled: "■ cancelled", running: `◔ ${stage || "begins"}${share === null ? (done ? ` ${count(done)}` : "") : ` ${percent(share)}`}`, done: "● done", failed: "■ failed" };
  return h(
    "article",
    { key: id, class: `run ${state}`, "data-replay": id },
    h("h3", {}, files.length ? files.join(", ") : `replay ${id}`),
    h("p", {}, h("span", { class: "state" }, words[state] ?? state), " ", state === "running" ? h("progress", share === null ? { "aria-label": "Progress" } : { value: share, max: 1, "aria-label": "Progress" }) : null),
    error ? h("p", { class: "notice lost" }, `▲ ${error}`) : null,
    over(state) ? null : h("p", {}, h("button", { type: "button", class: "link cancel", "aria-label": `Cancel the replay of ${files.join(", ") || id}`, onclick: cancel }, "Cancel")),
    state === "done" ? h("p", {}, h("a", { class: "primary", href: `#/?replay=${id}` }, "Open its report"), incident ? [" ", h("a", { href: `#/incidents/${id}` }, "Logs and flows together")] : null) : null,
  );
}
