// Elements. Text is always text: nothing here, nor elsewhere, reads HTML from data.

const SVG = "http://www.w3.org/2000/svg";

const slots = new WeakMap(); // element → what it was given: {attributes, style, handlers, key, part}

/**
 * An HTML element. Attributes: `onclick` and the like are handlers, `style` an object, null and false are left out; `key`, which is not
 * shown, identifies an element among its siblings when they are drawn again.
 */
export function h(tag, attributes = {}, ...children) {
  return furnish(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return furnish(document.createElementNS(SVG, tag), attributes, children);
}

function furnish(element, attributes, children) {
  const slot = { attributes: {}, style: {}, handlers: {}, key: null, part: null };
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "key") slot.key = String(value);
    else if (name === "style") Object.assign(slot.style, value);
    else if (name.startsWith("on")) slot.handlers[name.slice(2)] = value;
    else slot.attributes[name] = value === true ? "" : String(value);
  }
  dress(element, { attributes: {}, style: {} }, slot);
  element.append(...nodes(children));
  return element;
}

/** What `h` gave an element: {attributes, style, handlers, key, part}; undefined for an element that it did not make. */
export const slotOf = (element) => slots.get(element);

/** What is shown of children: no null, undefined or false; lists within lists are opened. */
export const nodes = (children) => children.flat(4).filter((child) => child !== null && child !== undefined && child !== false);

/**
 * Gives an element what `now` names and takes away what only `was` named. What others set (an unfolded <details>, a typed text) stays.
 * A handler is looked up when its event comes, so that a newer one replaces it without another listener.
 */
export function dress(element, was, now) {
  for (const name of Object.keys(was.attributes)) if (!(name in now.attributes)) element.removeAttribute(name);
  for (const [name, value] of Object.entries(now.attributes)) if (was.attributes[name] !== value) element.setAttribute(name, value);
  for (const name of Object.keys(was.style)) if (!(name in now.style)) element.style.removeProperty(name);
  for (const [name, value] of Object.entries(now.style)) if (was.style[name] !== value) element.style.setProperty(name, value);
  for (const type of Object.keys(now.handlers)) element.addEventListener(type, heard);
  slots.set(element, now);
}

const heard = (event) => slots.get(event.currentTarget)?.handlers[event.type]?.(event);

/**
 * A table: columns are {name, label, number?, cell(row)}; `sorted` {name, down}; `onsort(name)`; `key(row)` identifies a row; `href(row)` for
 * the first cell; `marked(row)` a severity; `counted` {rows, begin} where these are some rows of a longer table.
 */
export function table(columns, rows, { caption, sorted, onsort, key, href, marked, counted } = {}) {
  const heads = columns.map((column) => {
    const order = sorted?.name === column.name ? (sorted.down ? "descending" : "ascending") : null;
    const label = order ? `${column.label} ${sorted.down ? "↓" : "↑"}` : column.label;
    const sort = onsort && column.by;
    const inside = sort ? h("button", { class: "sort", type: "button", onclick: () => onsort(column.name) }, label) : label;
    return h("th", { key: column.name, scope: "col", class: column.number ? "number" : null, "aria-sort": order, title: column.title }, inside);
  });
  const body = rows.map((row, at) =>
    h("tr", { key: key?.(row), "aria-rowindex": counted ? counted.begin + at + 2 : null, class: marked?.(row) ? `marked ${marked(row)}` : null, "data-row": href ? "" : null }, columns.map((column, place) => {
      const cell = column.cell(row);
      const shown = place === 0 && href ? h("a", { href: href(row) }, cell) : cell;
      return h("td", { class: [column.number ? "number" : "", column.class ?? ""].join(" ").trim() || null, "data-label": column.label }, h("div", {}, shown));
    })),
  );
  const head = h("thead", {}, h("tr", {}, heads));
  return h("div", { class: "scroll" }, h("table", { "aria-rowcount": counted ? counted.rows + 1 : null }, caption ? h("caption", {}, caption) : null, head, h("tbody", {}, body)));
}

/** A section with a heading, an optional note beside it, and what is in it. */
export function section(title, { id, note, tools, wide } = {}, ...children) {
  const heading = h("header", {}, h("h2", {}, title), note ? h("p", { class: "note" }, note) : null, tools ?? null);
  return h("section", { id, class: wide ? "wide" : null, "aria-label": title }, heading, ...children);
}

/** Facts as a list of terms: [[term, value], …]; those without a value are left out. */
export function facts(pairs) {
  const told = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return h("dl", { class: "facts" }, told.map(([term, value]) => h("div", { key: term }, h("dt", {}, term), h("dd", {}, value))));
}

/** What is said where there is nothing to show. */
export function empty(text, ...more) {
  return h("p", { class: "empty" }, text, ...more);
}
