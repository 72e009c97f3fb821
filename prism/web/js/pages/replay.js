// Replay: drop captures or dumps here, watch their progress, get their report.

import { empty, h, section } from "../dom.js";
import { count, octets, percent } from "../format.js";

const POLL_MS = 1000;

/** The page. */
export async function replay({ source, fill }) {
  const chosen = h("div", { class: "box", "aria-live": "polite" });
  const runs = h("div", { class: "box", "aria-live": "polite" });
  const input = h("input", { type: "file", multiple: true, id: "files", class: "hidden", onchange: () => choose([...input.files]) });
  const drop = h("label", { class: "drop", for: "files", tabindex: 0, role: "button" }, h("strong", {}, "Drop captures or flow records here"), h("span", {}, "or click to choose: pcap, pcapng, CSV, JSON Lines, Parquet, nfdump, Zeek, plain or .gz, .zst; one file per switch, and the topology (topology.json, .yaml or .csv) with them"));
  let files = [];

  function choose(some) {
    files = [...files, ...some.filter((one) => !files.some((other) => other.name === one.name))];
    draw();
  }
  function draw(error = null, sending = false) {
    const rows = files.map((file) => h("li", {}, file.name, " ", h("small", {}, octets(file.size)), isTopology(file) ? h("small", {}, " topology") : null, " ", h("button", { type: "button", class: "link", "aria-label": `Leave out ${file.name}`, onclick: () => { files = files.filter((one) => one !== file); draw(); } }, "leave out")));
    const go = h("button", { type: "button", class: "primary", id: "go", disabled: sending || !files.some((one) => !isTopology(one)), onclick: send }, sending ? "Sending …" : "Replay");
    chosen.replaceChildren(...(error ? [h("p", { class: "notice lost" }, `▲ ${error}`)] : []), ...(files.length ? [h("ul", { class: "files" }, rows), h("p", {}, go)] : []));
  }
  async function send() {
    const body = new FormData();
    for (const file of files) body.append(isTopology(file) ? "topology" : "files", file, file.name);
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

  const cards = new Map();
  const show = (told) => {
    const known = cards.get(told.id);
    if (known && over(known.state) && !over(told.state)) return; // what was asked before it was over, and answered after
    const made = card(told);
    if (known) known.made.replaceWith(made);
    else {
      runs.querySelector(".empty")?.remove();
      runs.prepend(made);
    }
    cards.set(told.id, { made, state: told.state });
  };
  async function watch(id) {
    try {
      const told = await source.get(`/replays/${id}`);
      show(told);
      if (!over(told.state)) setTimeout(() => runs.isConnected && watch(id), POLL_MS);
    } catch (error) {
      show({ id, state: "failed", error: error.message, files: [] });
    }
  }
  let placed = false;
  const news = (event) => { // until the page that was there is gone
    placed ||= runs.isConnected;
    if (placed && !runs.isConnected) document.removeEventListener("replay", news);
    else show(event.detail);
  };
  document.addEventListener("replay", news);
  fill(runs, source.get("/replays"), (box, { items }) => {
    items.filter((one) => !cards.has(one.id)).forEach(show);
    box.replaceChildren(...[...cards.values()].map(({ made }) => made).reverse());
    if (!cards.size) box.append(empty("Nothing was sent yet."));
  });
  const node = h(
    "div",
    { class: "page" },
    h("header", { class: "title" }, h("h1", {}, "Replay"), h("p", { class: "note" }, "What was recorded is diagnosed here, and shown like what runs now. Nothing leaves this service.")),
    section("Files", { id: "send", wide: true }, drop, input, chosen),
    section("Replays", { id: "replays", wide: true }, runs),
  );
  return { title: "Replay", node, steady: true };
}

const over = (state) => state === "done" || state === "failed";

/** A topology is told by its name; all else is data. */
const isTopology = (file) => /^topology[^/]*\.(json|ya?ml|csv)$/i.test(file.name);

function card({ id, state, stage, done, total, error, files }) {
  const share = total ? done / total : null;
  const words = { queued: "◌ waiting for its turn", running: `◔ ${stage || "begins"}${share === null ? (done ? ` ${count(done)}` : "") : ` ${percent(share)}`}`, done: "● done", failed: "■ failed" };
  return h(
    "article",
    { class: `run ${state}`, "data-replay": id },
    h("h3", {}, files.length ? files.join(", ") : `replay ${id}`),
    h("p", {}, h("span", { class: "state" }, words[state] ?? state), " ", state === "running" ? h("progress", share === null ? { "aria-label": "Progress" } : { value: share, max: 1, "aria-label": "Progress" }) : null),
    error ? h("p", { class: "notice lost" }, `▲ ${error}`) : null,
    state === "done" ? h("p", {}, h("a", { class: "primary", href: `#/?replay=${id}` }, "Open its report")) : null,
  );
}
