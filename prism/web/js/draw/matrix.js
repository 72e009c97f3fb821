// Traffic matrix as a square of cells: leaf by leaf, switch by switch.

import { h } from "../dom.js";
import { octets } from "../format.js";
import { SIGNS, ramp, token } from "../palette.js";
import { part, redraw } from "../patch.js";
import { fit, pointer, surface, tip, write } from "./canvas.js";

const HEAD = 18;

/**
 * A matrix. data: {names, cells, marked} with names of rows and columns, cells [{src, dst, octets}], marked [{src, dst, severity, text}];
 * options: label, onpick(src, dst).
 */
export const matrix = (data, options = {}) => part({ class: "drawing" }, mountMatrix, { ...data, ...options });

function mountMatrix(root, first) {
  let props = first;
  let found = new Map();
  const view = surface(root);
  const hint = tip(root);
  const foot = h("p", { class: "key" });
  root.append(foot);
  const at = (x, y) => {
    const { names } = props;
    const { left, size } = room(view.width(), names.length);
    return [names[Math.floor((y - HEAD) / size)], names[Math.floor((x - left) / size)]];
  };
  const again = pointer(view.canvas, {
    moved(x, y) {
      const [src, dst] = at(x, y);
      if (src === undefined || dst === undefined) return hint.hide();
      const why = (props.marked ?? []).filter((one) => one.src === src && one.dst === dst).map((one) => `${SIGNS[one.severity]} ${one.text}`);
      return hint.show(x, y, [`${src} → ${dst}`, octets(found.get(`${src}\n${dst}`)?.octets ?? 0), ...why]);
    },
    left: () => hint.hide(),
    clicked: (x, y) => props.onpick?.(...at(x, y)),
  });
  const update = (next) => {
    props = next;
    const { names, cells, label = "Traffic" } = props;
    const most = Math.max(1, ...cells.map((cell) => cell.octets));
    found = new Map(cells.map((cell) => [`${cell.src}\n${cell.dst}`, cell]));
    const index = new Map(names.map((name, place) => [name, place]));
    const known = cells.filter((cell) => index.has(cell.src) && index.has(cell.dst) && cell.octets > 0);
    view.show({
      height: (width) => HEAD + room(width, names.length).size * names.length + 4,
      label: `${label}: ${names.length} by ${names.length}, ${known.length} pairs, at most ${octets(most)}`,
      paint: (context, width) => paint(context, { ...room(width, names.length), names, index, known, most, marked: props.marked ?? [] }),
    });
    redraw(foot, cells.length ? `Rows send to columns, at most ${octets(most)}; the stronger the colour, the more.` : "no traffic");
    again();
  };
  update(first);
  return { update };
}

function room(width, rows) {
  const left = Math.min(110, width * 0.25);
  return { left, size: Math.max(1.5, Math.min(58, (width - left - 6) / rows)) };
}

function paint(context, { left, size, names, index, known, most, marked }) {
  const colours = ramp("volume");
  context.fillStyle = token("lane");
  context.fillRect(left, HEAD, size * names.length, size * names.length);
  for (const { src, dst, octets: much } of known) {
    const share = Math.sqrt(much / most);
    const [r, g, b] = colours[Math.round(40 + 215 * share)];
    context.fillStyle = `rgb(${r} ${g} ${b})`;
    const gap = size > 8 ? 1 : 0;
    context.fillRect(left + index.get(dst) * size + gap, HEAD + index.get(src) * size + gap, size - gap, size - gap);
    if (size >= 48) write(context, octets(much), left + (index.get(dst) + 0.5) * size, HEAD + (index.get(src) + 0.5) * size, { align: "center", colour: r + g + b > 380 ? "#10151c" : "#ffffff" });
  }
  headings(context, names, { left, size });
  for (const one of marked) frame(context, one, index, { left, size });
}

function headings(context, names, { left, size }) {
  const every = Math.max(1, Math.ceil(13 / size));
  for (let at = 0; at < names.length; at += every) {
    write(context, fit(context, names[at], left - 10), left - 6, HEAD + (at + 0.5) * size, { align: "right" });
  }
  const wide = Math.max(1, Math.ceil(46 / size));
  for (let at = 0; at < names.length; at += wide) write(context, fit(context, names[at], wide * size - 4), left + at * size + 1, 9);
}

function frame(context, { src, dst, severity }, index, { left, size }) {
  if (!index.has(src) || !index.has(dst)) return;
  context.lineWidth = 2;
  context.strokeStyle = token(severity);
  context.strokeRect(left + index.get(dst) * size, HEAD + index.get(src) * size, Math.max(4, size), Math.max(4, size));
}
