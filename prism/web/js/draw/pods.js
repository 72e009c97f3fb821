// A matrix of very many switches: first by pods (switches with similar names); a selected pair of pods is shown by switch.

import { h } from "../dom.js";
import { count } from "../format.js";
import { part, redraw } from "../patch.js";
import { matrix } from "./matrix.js";

const MOST = 48; // switches in a matrix: narrower cells are too small for a pointer
const PODS = 24;

/** A matrix as from `matrix`, with the same `data`. */
export const podMatrix = (data, options = {}) => (data.names.length <= MOST ? matrix(data, options) : part({ class: "pods" }, mount, { data, options }));

/** Groups sorted names to pods: [{name, members}]; names that differ only by number belong together. */
export function pods(names) {
  const kinds = new Map();
  for (const name of names) {
    const kind = name.replace(/\d+/g, "");
    kinds.set(kind, [...(kinds.get(kind) ?? []), name]);
  }
  const size = Math.ceil(names.length / PODS);
  return [...kinds.values()].flatMap((own) => Array.from({ length: Math.ceil(own.length / size) }, (_, at) => {
    const members = own.slice(at * size, (at + 1) * size);
    return { name: members.length > 1 ? `${members[0]} … ${members.at(-1)}` : members[0], members };
  }));
}

function mount(root, first) {
  let props = first;
  let chosen = null; // names of two pods
  const draw = () => {
    const { data, options } = props;
    const all = pods(data.names);
    const of = new Map(all.flatMap((pod) => pod.members.map((name) => [name, pod.name])));
    const members = (name) => all.find((pod) => pod.name === name)?.members ?? [];
    if (chosen && !chosen.every((name) => members(name).length)) chosen = null;
    if (chosen) {
      const names = [...new Set(chosen.flatMap(members))];
      const inside = (one) => names.includes(one.src) && names.includes(one.dst);
      const back = h("button", { type: "button", class: "link", onclick: () => { chosen = null; draw(); } }, "All pods");
      return redraw(root, h("p", { class: "knobs" }, back, h("span", { class: "note" }, chosen.join(" and "))), matrix({ names, cells: data.cells.filter(inside), marked: data.marked.filter(inside) }, options));
    }
    const sums = new Map();
    for (const { src, dst, octets } of data.cells) {
      const key = `${of.get(src)}\n${of.get(dst)}`;
      sums.set(key, (sums.get(key) ?? 0) + octets);
    }
    const cells = [...sums].map(([key, octets]) => ({ src: key.split("\n")[0], dst: key.split("\n")[1], octets }));
    const marked = data.marked.map((one) => ({ ...one, src: of.get(one.src), dst: of.get(one.dst) }));
    const note = h("p", { class: "note" }, `${count(data.names.length)} switches in ${count(all.length)} pods by name; click a cell for its switches`);
    return redraw(root, note, matrix({ names: all.map((pod) => pod.name), cells, marked }, { ...options, onpick: (src, dst) => { if (src && dst) { chosen = [...new Set([src, dst])]; draw(); } } }));
  };
  draw();
  return { update(next) { props = next; draw(); } };
}
