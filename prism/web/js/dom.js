// Elements. Text is always text: nothing here, nor elsewhere, reads HTML from data.

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element. Attributes: `onclick` and the like are listeners, `style` an object, null and false are left out. */
export function h(tag, attributes = {}, ...children) {
  return furnish(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return furnish(document.createElementNS(SVG, tag), attributes, children);
}

function furnish(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") for (const [key, one] of Object.entries(value)) element.style.setProperty(key, one);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(3).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** A table: columns are {name, label, number?, cell(row)}; `sorted` {name, down}; `onsort(name)`; `href(row)` for the first cell; `marked(row)` a severity. */
export function table(columns, rows, { caption, sorted, onsort, href, marked } = {}) {
  const heads = columns.map((column) => {
    const order = sorted?.name === column.name ? (sorted.down ? "descending" : "ascending") : null;
    const label = order ? `${column.label} ${sorted.down ? "↓" : "↑"}` : column.label;
    const sort = onsort && column.by;
    const inside = sort ? h("button", { class: "sort", type: "button", onclick: () => onsort(column.name) }, label) : label;
    return h("th", { scope: "col", class: column.number ? "number" : null, "aria-sort": order, title: column.title }, inside);
  });
  const body = rows.map((row) =>
    h("tr", { class: marked?.(row) ? `marked ${marked(row)}` : null, "data-row": href ? "" : null }, columns.map((column, place) => {
      const cell = column.cell(row);
      const shown = place === 0 && href ? h("a", { href: href(row) }, cell) : cell;
      return h("td", { class: [column.number ? "number" : "", column.class ?? ""].join(" ").trim() || null, "data-label": column.label }, h("div", {}, shown));
    })),
  );
  const head = h("thead", {}, h("tr", {}, heads));
  return h("div", { class: "scroll" }, h("table", {}, caption ? h("caption", {}, caption) : null, head, h("tbody", {}, body)));
}

/** A section with a heading, an optional note beside it, and what is in it. */
export function section(title, { id, note, tools, wide } = {}, ...children) {
  const heading = h("header", {}, h("h2", {}, title), note ? h("p", { class: "note" }, note) : null, tools ?? null);
  return h("section", { id, class: wide ? "wide" : null, "aria-label": title }, heading, ...children);
}

/** Facts as a list of terms: [[term, value], …]; those without a value are left out. */
export function facts(pairs) {
  const told = pairs.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return h("dl", { class: "facts" }, told.map(([term, value]) => h("div", {}, h("dt", {}, term), h("dd", {}, value))));
}

/** What is said where there is nothing to show. */
export function empty(text, ...more) {
  return h("p", { class: "empty" }, text, ...more);
}
