// Save visible data as files: lists as CSV or Parquet from the service, pictures as PNG.

import { h } from "./dom.js";

const FORMS = { CSV: ["text/csv", "csv"], Parquet: ["application/vnd.apache.parquet", "parquet"] };

/** Buttons that save a list of the service; nothing in a report without a service. */
export function exports(source, path, query = {}) {
  if (!source.live) return null;
  const name = path.split("/").filter(Boolean).join("-");
  return h("span", { class: "exports" }, Object.entries(FORMS).map(([label, [kind, ending]]) => h("button", { type: "button", class: "link", "aria-label": `Save ${name} as ${label}`, onclick: async (event) => {
    const button = event.currentTarget;
    try {
      save(await source.file(path, query, kind), `${name}.${ending}`);
    } catch (error) {
      button.textContent = `▲ ${error.message}`;
    }
  } }, label)));
}

/** A button that saves the visible tables of a section as CSV, for data without a list in the service. */
export function sheet(id) {
  return h("button", { type: "button", class: "link", "aria-label": `Save ${id} as CSV`, onclick: () => {
    const tables = [...(document.getElementById(id)?.querySelectorAll("table") ?? [])];
    const rows = tables.flatMap((one) => [...one.querySelectorAll("tr:not(.spacer)")].map((row) => [...row.children].map((cell) => inert(cell.textContent.trim()))));
    if (rows.length) save(new Blob([`\ufeff${rows.map((row) => row.map(quoted).join(",")).join("\r\n")}\r\n`], { type: "text/csv" }), `${id}.csv`);
  } }, "CSV");
}

const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
/** Escapes text that a spreadsheet would compute (OWASP, CSV injection). */
const inert = (text) => (/^[=+@\t\r]|^-(?!\d)/.test(text) ? `'${text}` : text);

/** A button that saves the pictures inside an element as one PNG with their heading; `name` is for screen readers. */
export function png(box, name) {
  return h("button", { type: "button", class: "link", "aria-label": `Save ${name} as PNG`, onclick: () => {
    const found = [...box().querySelectorAll("canvas:not(.ramp), svg.graph")].map(sized).filter((one) => one.wide && one.tall);
    if (!found.length) return;
    const ratio = Math.min(3, window.devicePixelRatio || 1);
    const all = document.createElement("canvas");
    [all.width, all.height] = [Math.max(...found.map((one) => one.wide)), found.reduce((sum, one) => sum + one.tall, HEAD * ratio)];
    const context = all.getContext("2d");
    context.fillStyle = shade("surface");
    context.fillRect(0, 0, all.width, all.height);
    context.fillStyle = shade("text");
    context.font = `600 ${13 * ratio}px system-ui, sans-serif`;
    context.fillText([document.title.replace(" · Prism", ""), box().querySelector("h2")?.textContent].filter(Boolean).join(" · "), 8 * ratio, 20 * ratio);
    let at = HEAD * ratio;
    for (const { element, wide, tall } of found) {
      if (element instanceof HTMLCanvasElement) context.drawImage(element, 0, at);
      else drawn(context, element, { wide, at });
      at += tall;
    }
    all.toBlob((blob) => save(blob, `${name.replace(/[^\w.-]+/g, "-")}.png`));
  } }, "PNG");
}

const HEAD = 30;
const shade = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`);

/** Returns the size of a picture in screen pixels. */
function sized(element) {
  if (element instanceof HTMLCanvasElement) return { element, wide: element.width, tall: element.height };
  const ratio = Math.min(3, window.devicePixelRatio || 1);
  const { width, height } = element.getBoundingClientRect();
  return { element, wide: Math.round(width * ratio), tall: Math.round(height * ratio) };
}

/** Draws the lines, circles and labels of an SVG picture as on the page. */
function drawn(context, picture, { wide, at }) {
  context.save();
  context.translate(0, at);
  const scale = wide / picture.viewBox.baseVal.width;
  context.scale(scale, scale);
  for (const one of picture.querySelectorAll("path, circle, text")) {
    const style = getComputedStyle(one);
    const shape = one.tagName === "path" ? new Path2D(one.getAttribute("d")) : new Path2D();
    if (one.tagName === "circle") shape.arc(one.cx.baseVal.value, one.cy.baseVal.value, one.r.baseVal.value, 0, 2 * Math.PI);
    context.globalAlpha = Number(style.opacity) * Number(one.tagName === "path" ? style.strokeOpacity : 1);
    [context.fillStyle, context.strokeStyle, context.lineWidth] = [style.fill, style.stroke, Number.parseFloat(style.strokeWidth) || 1];
    if (one.tagName === "text") {
      context.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
      context.textAlign = style.textAnchor === "middle" ? "center" : "left";
      context.fillText(one.textContent, one.x.baseVal[0].value, one.y.baseVal[0].value);
    } else {
      if (one.tagName === "circle") context.fill(shape);
      if (style.stroke !== "none") context.stroke(shape);
    }
  }
  context.restore();
}

/** Passes a file to the browser. */
export function save(blob, name) {
  const url = URL.createObjectURL(blob);
  const anchor = h("a", { href: url, download: name });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
