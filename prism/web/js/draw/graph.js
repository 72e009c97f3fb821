// Communication between ranks: nodes by stage or in a ring; the width of a line shows its octets, the colour its kind.

import { h, svg } from "../dom.js";
import { natural, octets } from "../format.js";
import { SIGNS, phase, tints } from "../palette.js";
import { part, redraw } from "../patch.js";
import { legend } from "./spark.js";

const WIDE = 560;

/**
 * A graph with a check box for each kind of traffic.
 *
 * data: {nodes: [{id, leaf, host, stage, rank}], edges: [{src, dst, kind, octets}]} of the API. options: blamed Map(id -> severity), note
 * (a text beside the boxes). Method: focus(rank or null).
 */
export const graph = (data, options = {}) => part({}, mountGraph, { data, ...options });

function mountGraph(root, first) {
  let props = first;
  let focused = null;
  const off = new Set(); // hidden kinds
  const focus = (id) => {
    if (id === focused) return;
    focused = id;
    draw();
  };
  const tick = (kind, event) => {
    off[event.target.checked ? "delete" : "add"](kind);
    draw();
  };
  const draw = () => {
    const { data, note } = props;
    const kinds = [...new Set(data.edges.map((edge) => edge.kind))];
    const boxes = kinds.map((kind) => h("label", { key: kind }, h("input", { type: "checkbox", checked: true, "aria-label": `Show ${phase(kind).label}`, onchange: (event) => tick(kind, event) }), legend([[kind, null]])));
    redraw(root, h("div", { class: "filters" }, boxes), note ? h("p", { class: "note" }, note) : null, picture(props, { off, focused, focus }));
  };
  draw();
  return {
    update(next) {
      props = next;
      if (!props.data.nodes.some((node) => node.id === focused)) focused = null;
      draw();
    },
    focus: (rank) => focus(rank === null ? null : (props.data.nodes.find((node) => node.rank === rank)?.id ?? null)),
  };
}

function picture({ data, blamed = new Map() }, { off, focused, focus }) {
  const { spots, tall } = arranged([...data.nodes].sort((a, b) => (a.rank ?? 0) - (b.rank ?? 0) || natural(a.id, b.id)));
  const most = Math.max(1, ...data.edges.map((edge) => edge.octets));
  const edges = data.edges.filter((edge) => !off.has(edge.kind) && spots.has(edge.src) && spots.has(edge.dst) && edge.src !== edge.dst);
  const lines = edges.map((edge) => link(edge, spots, { most, on: edge.src === focused || edge.dst === focused }));
  const [named, small] = [data.nodes.length <= 40, data.nodes.length > 120];
  const dots = data.nodes.map((node) => dot(node, spots.get(node.id), { severity: blamed.get(node.id), named, small, focus }));
  const summary = `${data.nodes.length} nodes, ${edges.length} pairs that exchange ${octets(edges.reduce((sum, edge) => sum + edge.octets, 0))}`;
  return h(
    "div",
    { class: "drawing" },
    svg("svg", { class: focused === null ? "graph" : "graph focused", viewBox: `0 0 ${WIDE} ${tall}`, role: "img", "aria-label": `Communication graph: ${summary}` }, lines, dots),
    h("p", { class: "key", "aria-live": "polite" }, focused === null ? summary : about(focused, data, edges)),
  );
}

function about(id, data, edges) {
  const node = data.nodes.find((one) => one.id === id);
  const sent = edges.filter((edge) => edge.src === id).reduce((sum, edge) => sum + edge.octets, 0);
  const heard = edges.filter((edge) => edge.dst === id).reduce((sum, edge) => sum + edge.octets, 0);
  const where = [node.host, node.leaf, node.stage === null || node.stage === undefined ? null : `stage ${node.stage}`].filter((one) => one && one !== id);
  return `${id}${where.length ? ` (${where.join(", ")})` : ""}: sends ${octets(sent)}, receives ${octets(heard)}`;
}

/** Arranges nodes in columns by stage, or in a ring if there is one stage; in order of rank. */
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
        // a small shift, so that lines within a column do not overlap
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

/** Draws a line bent to its right, so that both directions of a pair are visible. */
function link(edge, spots, { most, on }) {
  const [[x0, y0], [x1, y1]] = [spots.get(edge.src), spots.get(edge.dst)];
  const [mx, my] = [(x0 + x1) / 2 - (y1 - y0) * 0.12, (y0 + y1) / 2 + (x1 - x0) * 0.12];
  const width = 0.6 + 3.4 * Math.sqrt(edge.octets / most);
  const shape = { class: on ? "tinted on" : "tinted", style: tints(edge.kind), d: `M${x0} ${y0}Q${mx} ${my} ${x1} ${y1}`, "stroke-width": width.toFixed(2) };
  return svg("path", { key: `${edge.kind} ${edge.src} ${edge.dst}`, ...shape }, svg("title", {}, `${edge.src} to ${edge.dst}: ${phase(edge.kind).label}, ${octets(edge.octets)}`));
}

function dot(node, [x, y], { severity, named, small, focus }) {
  const point = { onpointerenter: () => focus(node.id), onpointerleave: () => focus(null) };
  const circle = svg("circle", { key: `dot ${node.id}`, ...point, cx: x, cy: y, r: severity ? 7 : small ? 2.5 : 5, class: severity ?? null, tabindex: -1 }, svg("title", {}, node.id));
  if (!named && !severity) return [circle];
  const text = `${severity ? `${SIGNS[severity]} ` : ""}${node.rank === null || node.rank === undefined ? node.id : `r${node.rank}`}`;
  return [circle, svg("text", { key: `name ${node.id}`, x, y: y - 10, class: severity ?? null }, text)];
}
