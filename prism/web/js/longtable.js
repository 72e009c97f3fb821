// Tables of very many rows: only visible rows are in the page. The others keep their space, so that the scroll bar is right.

import { h, table } from "./dom.js";
import { count } from "./format.js";
import { part, redraw } from "./patch.js";

const PLAIN = 60; // rows up to which a plain table is used
const ROW = 37; // height of a row, px, before the first measurement
const SPARE = 12; // extra rows above and below the visible ones

/** A table like `table`, of any length. `label` is for screen readers; up to `plain` rows it is a plain table. */
export function longTable(columns, rows, options = {}) {
  if (rows.length <= (options.plain ?? PLAIN)) return table(columns, rows, options);
  return part({ class: "long", tabindex: 0, role: "region", "aria-label": `${options.label ?? "Table"}, ${count(rows.length)} rows, scrolls` }, mountLong, { columns, rows, options });
}

function mountLong(root, first) {
  let props = first;
  let tall = ROW;
  let from = -1;
  const draw = () => {
    const { columns, rows, options } = props;
    const begin = Math.max(0, Math.min(rows.length - 1, Math.floor(root.scrollTop / tall)) - SPARE);
    const most = Math.ceil((root.clientHeight || 600) / tall) + 2 * SPARE;
    from = begin;
    const made = table(columns, rows.slice(begin, begin + most), { ...options, counted: { rows: rows.length, begin } });
    const body = made.querySelector("tbody");
        body.prepend(spacer("above", begin * tall, columns.length));
    body.append(spacer("below", Math.max(0, rows.length - begin - most) * tall, columns.length));
    redraw(root, made);
    const shown = root.querySelector("tbody tr:not(.spacer)")?.offsetHeight;
    if (shown && Math.abs(shown - tall) > 1) {
      tall = shown;
      draw();
    }
  };
  root.addEventListener("scroll", () => {
    if (Math.abs(Math.floor(root.scrollTop / tall) - SPARE - from) > SPARE / 2) draw();
  }, { passive: true });
  draw();
  return {
    update(next) {
      props = next;
      draw();
    },
  };
}

const spacer = (key, height, columns) => h("tr", { key, class: "spacer", "aria-hidden": "true" }, h("td", { colspan: columns, style: { height: `${height}px` } }));
