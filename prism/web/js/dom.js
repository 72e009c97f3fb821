// Create elements. Text is always inserted as text: no module parses HTML from data.

const SVG = "http://www.w3.org/2000/svg";

const slots = new WeakMap(); // element → its state: {attributes, style, handlers, key, part}

/**
 * Creates an HTML element. Attributes: `onclick` etc. are handlers, `style` is an object, null and false are left out; `key` is not
 * rendered and identifies an element among its siblings in updates.
 */
export function h(tag, attributes = {}, ...children) {
  return furnish(document.createElement(tag), attributes, children);
}

/** Creates an SVG element. */
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

/** State of an element that `h` made: {attributes, style, handlers, key, part}; undefined for other elements. */
export const slotOf = (element) => slots.get(element);

/** Flattens children to nodes, without null, undefined and false. */
export const nodes = (children) => children.flat(4).filter((child) => child !== null && child !== undefined && child !== false);

/**
 * Sets what `now` names and removes what only `was` names. Other changes (an open <details>, typed text) stay. Handlers are looked up when
 * an event comes, so that a newer one replaces it without another listener.
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
 * Creates a table. columns: {name, label, number?, cell(row)}; `sorted` {name, down}; `onsort(name)`; `key(row)` identifies a row;
 * `href(row)` for the first cell; `marked(row)` a severity; `counted` {rows, begin} if the rows are part of a longer table.
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

/** Creates a section with a heading, an optional note, and content. */
export function section(title, { id, note, tools, wide } = {}, ...children) {
  const heading = h("header", {}, h("h2", {}, title), note ? h("p", { class: "note" }, note) : null, tools ?? null);
  return h("section", { id, class: wide ? "wide" : null, "aria-label": title }, heading, ...children);
}

/** Creates a list of facts: [[term, value], …]; entries without a value are left out. */
export function facts(pairs) {
  const told = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return h("dl", { class: "facts" }, told.map(([term, value]) => h("div", { key: term }, h("dt", {}, term), h("dd", {}, value))));
}

/** Creates the text for an empty list. */
export function empty(text, ...more) {
  return h("p", { class: "empty" }, text, ...more);
}
