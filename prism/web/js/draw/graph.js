// Who talks to whom: nodes by stage or in a ring, lines by kind of traffic, as thick as their octets are many.

import { h, svg } from "../dom.js";
import { natural, octets } from "../format.js";
import { SIGNS, phase } from "../palette.js";
import { themed } from "./canvas.js";

const WIDE = 560;

/**
 * Draws a graph.
 *
 * data: {nodes: [{id, leaf, host, stage, rank}], edges: [{src, dst, kind, octets}]} of the API. options: blamed Map(id -> severity),
 * kinds: Set of kinds shown, onnode(node).
 */
export function drawGraph(element, data, { blamed = new Map(), kinds = null, onnode } = {}) {
  const { spots, tall } = arranged([...data.nodes].sort((a, b) => (a.rank ?? 0) - (b.rank ?? 0) || natural(a.id, b.id)));
  const most = Math.max(1, ...data.edges.map((edge) => edge.octets));
  const edges = data.edges.filter((edge) => (!kinds || kinds.has(edge.kind)) && spots.has(edge.src) && spots.has(edge.dst) && edge.src !== edge.dst);
  const lines = edges.map((edge) => [edge, link(edge, spots, most)]);
  const named = data.nodes.length <= 40;
  const dots = data.nodes.map((node) => dot(node, spots.get(node.id), { severity: blamed.get(node.id), named, small: data.nodes.length > 120 }));
  const summary = `${data.nodes.length} nodes, ${edges.length} pairs that exchange ${octets(edges.reduce((sum, edge) => sum + edge.octets, 0))}`;
  const root = svg("svg", { class: "graph", viewBox: `0 0 ${WIDE} ${tall}`, role: "img", "aria-label": `Communication graph: ${summary}` }, lines.map(([, line]) => line), dots.flat());
  const caption = h("p", { class: "key", "aria-live": "polite" }, summary);
  element.append(h("div", { class: "drawing" }, root, caption));
  const paint = () => lines.forEach(([edge, line]) => line.style.setProperty("stroke", phase(edge.kind).colour));
  paint();
  themed(root, paint);
  const focus = (id) => {
    root.classList.toggle("focused", id !== null);
    lines.forEach(([edge, line]) => line.classList.toggle("on", edge.src === id || edge.dst === id));
    caption.textContent = id === null ? summary : about(id, data, edges);
  };
  data.nodes.forEach((node, at) => {
    const target = dots[at][0];
    target.addEventListener("pointerenter", () => focus(node.id));
    target.addEventListener("pointerleave", () => focus(null));
    target.addEventListener("click", () => onnode?.(node));
  });
  const byRank = new Map(data.nodes.map((node) => [node.rank, node.id]));
  return { focus: (rank) => focus(rank === null ? null : (byRank.get(rank) ?? null)) };
}

function about(id, data, edges) {
  const node = data.nodes.find((one) => one.id === id);
  const sent = edges.filter((edge) => edge.src === id).reduce((sum, edge) => sum + edge.octets, 0);
  const heard = edges.filter((edge) => edge.dst === id).reduce((sum, edge) => sum + edge.octets, 0);
  const where = [node.host, node.leaf, node.stage === null || node.stage === undefined ? null : `stage ${node.stage}`].filter((one) => one && one !== id);
  return `${id}${where.length ? ` (${where.join(", ")})` : ""}: sends ${octets(sent)}, receives ${octets(heard)}`;
}

/** Columns by stage where there are several stages, else a ring; in order of rank. */
function arranged(nodes) {
  const stages = [...new Set(nodes.map((node) => node.stage).filter((one) => one !== null && one !== undefined))].sort((a, b) => a - b);
  const spots = new Map();
  if (stages.length > 1) {
    const columns = stages.map((stage) => nodes.filter((node) => node.stage === stage));
    const most = Math.max(...columns.map((column) => column.length));
    const tall = Math.min(560, Math.max(180, most * 34 + 70));
    columns.forEach((column, x) => {
      column.forEach((node, y) => {
        const middle = 44 + ((y + 0.5) / column.length) * (tall - 70);
        // a small shift, so that lines between neighbours of a column do not lie on one another
        const shift = column.length > 2 ? (y % 2 ? 12 : -12) : 0;
        spots.set(node.id, [60 + (x / Math.max(1, stages.length - 1)) * (WIDE - 120) + shift, middle]);
      });
    });
    return { spots, tall };
  }
  const tall = nodes.length > 40 ? 520 : nodes.length > 10 ? 420 : 320;
  nodes.forEach((node, at) => {
    const angle = (at / nodes.length) * 2 * Math.PI - Math.PI / 2;
    const radius = tall / 2 - 44;
    spots.set(node.id, [WIDE / 2 + Math.cos(angle) * radius * 1.25, tall / 2 + Math.sin(angle) * radius]);
  });
  return { spots, tall };
}

/** A line bent to its right, so that both directions of a pair are seen. */
function link(edge, spots, most) {
  const [[x0, y0], [x1, y1]] = [spots.get(edge.src), spots.get(edge.dst)];
  const [mx, my] = [(x0 + x1) / 2 - (y1 - y0) * 0.12, (y0 + y1) / 2 + (x1 - x0) * 0.12];
  const width = 0.6 + 3.4 * Math.sqrt(edge.octets / most);
  const path = svg("path", { d: `M${x0} ${y0}Q${mx} ${my} ${x1} ${y1}`, "stroke-width": width.toFixed(2) });
  path.append(svg("title", {}, `${edge.src} to ${edge.dst}: ${phase(edge.kind).label}, ${octets(edge.octets)}`));
  return path;
}

function dot(node, [x, y], { severity, named, small }) {
  const circle = svg("circle", { cx: x, cy: y, r: severity ? 7 : small ? 2.5 : 5, class: severity ?? null, tabindex: -1 }, svg("title", {}, node.id));
  if (!named && !severity) return [circle];
  const text = `${severity ? `${SIGNS[severity]} ` : ""}${node.rank === null || node.rank === undefined ? node.id : `r${node.rank}`}`;
  return [circle, svg("text", { x, y: y - 10, class: severity ?? null }, text)];
}
