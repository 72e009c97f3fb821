// Pictures from plain elements: suspects with probabilities, layout of a job, bars beside numbers.

import { empty, h } from "../dom.js";
import { likely, names } from "../format.js";
import { SIGNS } from "../palette.js";
import { confidence } from "./spark.js";

/** Lists suspects as bars, most likely first. alternatives: [{ids, probability}]. */
export function suspects(alternatives, most = 6) {
  const probable = alternatives.filter((one, at) => one.probability >= 0.005 || at === 0);
  if (!probable.length) return empty("The suspects cannot be distinguished.");
  const shown = [...probable].sort((a, b) => b.probability - a.probability).slice(0, most);
  const rest = alternatives.length - shown.length;
  return h(
    "div",
    { class: "suspects" },
    h("ol", {}, shown.map((one) => h("li", { key: one.ids.join() }, h("span", { class: "who", title: one.ids.join(", ") }, one.ids.length === 2 ? one.ids.join(" – ") : names(one.ids, 2)), bar(one.probability), h("b", {}, likely(one.probability))))),
    rest > 0 ? h("p", { class: "note" }, `${rest} more, each less likely`) : null,
  );
}

/** A bar of a share 0 … 1. */
export const bar = (share) => h("span", { class: "bar", "aria-hidden": "true" }, h("i", { style: { width: `${Math.max(0, Math.min(1, share)) * 100}%` } }));

/** Draws ranks in a grid: a row per data-parallel index, a column per stage; ranks of one place share a cell. */
export function ranksGrid(ranks, { blamed = new Map(), onrank } = {}) {
  const stages = [...new Set(ranks.map((rank) => rank.stage ?? 0))].sort((a, b) => a - b);
  const lanes = [...new Set(ranks.map((rank) => rank.groups?.pp ?? rank.groups?.dp ?? 0))].sort((a, b) => a - b);
  if (lanes.length > 64 || (stages.length < 2 && lanes.length < 2)) return null;
  const chip = (rank) => {
    const severity = blamed.get(rank.rank);
    const name = `${severity ? SIGNS[severity] : ""}${rank.rank}`;
    const title = [rank.endpoint, rank.host, rank.leaf].filter(Boolean).join(", ");
    return h("button", { key: rank.rank, type: "button", class: `rank ${severity ?? ""}`, title, "aria-label": `rank ${rank.rank}, ${title}`, onclick: () => onrank?.(rank.rank) }, name);
  };
  const rows = lanes.map((lane) =>
    h("tr", {}, h("th", { scope: "row" }, lanes.length > 1 ? `pipeline ${lane}` : ""), stages.map((stage) =>
      h("td", {}, ranks.filter((rank) => (rank.stage ?? 0) === stage && (rank.groups?.pp ?? rank.groups?.dp ?? 0) === lane).map(chip)))),
  );
  const heads = h("tr", {}, h("td", {}), stages.map((stage) => h("th", { scope: "col" }, `stage ${stage}`)));
  return h("div", { class: "scroll" }, h("table", { class: "layout" }, h("thead", {}, heads), h("tbody", {}, rows)));
}

/** Lists groups by kind: number, size, evidence (traffic or placement), confidence. */
export function groupsByKind(groups) {
  const kinds = [...new Set(groups.map((group) => group.kind))];
  return kinds.map((kind) => {
    const all = groups.filter((group) => group.kind === kind);
    const sizes = [...new Set(all.map((group) => group.size ?? group.members.length))].sort((a, b) => a - b);
    const least = Math.min(...all.map((group) => group.confidence));
    const evidence = [...new Set(all.map((group) => group.evidence))];
    return { kind, number: all.length, sizes, evidence, least, sure: confidence(least), all };
  });
}
