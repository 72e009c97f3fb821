// A host, a rack, an address, a switch or a link: its jobs and findings.

import { empty, h, section } from "../dom.js";
import { count, duration, layout } from "../format.js";
import { png } from "../export.js";
import { reach } from "../shell.js";
import { link } from "../state.js";
import { rates } from "./rates.js";
import { optional } from "./remarks.js";
import { STATES, list, stateOf, tally } from "./claims.js";

const NAMES = { host: "Host", rack: "Rack", endpoint: "Address", switch: "Switch", link: "Link" };

/** The page. */
export async function place({ source, board, parts, fill }) {
  const [, type, id] = parts;
  const { items } = await source.get("/search", { q: type === "link" ? id : id, type, limit: 50 });
  const found = items.find((one) => one.id === id);
  if (!found) return { title: "Not there", node: h("div", { class: "page" }, empty(`No ${NAMES[type]?.toLowerCase() ?? "place"} is called ${id}. It may have left the topology.`)) };
  const [jobs, claims, moved] = [0, 1, 2].map(() => h("div", { class: "box" }));
  fill(jobs, source.get("/jobs", { limit: 1000 }), ({ items: all }) => jobRows(all.filter((one) => found.jobs.includes(one.id)), board));
  fill(claims, source.get("/findings", { limit: 1000 }), ({ items: all }) => {
    const own = all.filter((one) => found.findings.includes(one.id) || one.finding.isolate.hosts.includes(id));
    return own.length ? list(own, board) : empty("Nothing was found about it.");
  });
  const asked = await ratesOf(source, type, id);
  if (asked) fill(moved, optional(source, "rates", "/rates", asked), (data) => (data ? rates(data) : empty("This service keeps no flow records.")));
  const node = h(
    "div",
    { class: "page" },
    h("header", { class: "title" }, h("p", {}, NAMES[type] ?? type), h("h1", {}, found.title), h("p", { class: "lead" }, found.detail), h("p", { class: "note" }, reach(board))),
    section("Jobs", { id: "jobs-here", wide: true }, jobs),
    section("Findings", { id: "claims", wide: true }, claims),
    asked ? section("Bandwidth", { id: "rates", wide: true, note: "of the newest window", tools: png(() => document.getElementById("rates"), `${type}-${id}`) }, moved) : null,
  );
  return { title: found.title, node };
}

/** Builds the query for the rates of a place; null if it has none. */
async function ratesOf(source, type, id) {
  if (type === "endpoint") return { by: "endpoint", id };
  if (type === "switch") return { by: "switch", id };
  if (type === "link") return { by: "link", id: [id.replace("|", ">"), id.split("|").reverse().join(">")].join(",") };
  const { items } = await source.get("/search", { q: id, type, limit: 1 });
  return items[0]?.endpoints.length ? { by: "endpoint", id: items[0].endpoints.join(",") } : null;
}

function jobRows(jobs, board) {
  if (!jobs.length) return empty("No job uses it now.");
  return h("ul", { class: "plain" }, jobs.map((job) => h("li", { key: job.id, "data-row": "" },
    h("a", { href: link(["jobs", job.id]) }, job.name ?? job.id), job.name ? h("small", {}, ` ${job.id}`) : null, " ",
    h("span", { class: `state ${job.state}` }, STATES[stateOf(job, board)]), h("small", {}, ` ${layout(job.layout)}, ${count(job.endpoints)} ranks, step ${duration(job.step_ms.median)} `), tally(job.findings))));
}
