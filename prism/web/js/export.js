// What is shown, as a file: lists as CSV or Parquet from the service, pictures as PNG.

import { h } from "./dom.js";

const FORMS = { CSV: ["text/csv", "csv"], Parquet: ["application/vnd.apache.parquet", "parquet"] };

/** Buttons that save a list of the service; nothing in a report without one. */
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

/** A button that saves the pictures inside an element, one under the other, as PNG. */
export function png(box, name) {
  return h("button", { type: "button", class: "link", "aria-label": `Save ${name} as PNG`, onclick: () => {
    const canvases = [...box().querySelectorAll("canvas:not(.ramp)")].filter((one) => one.width);
    if (!canvases.length) return;
    const all = document.createElement("canvas");
    [all.width, all.height] = [Math.max(...canvases.map((one) => one.width)), canvases.reduce((sum, one) => sum + one.height, 0)];
    const context = all.getContext("2d");
    context.fillStyle = getComputedStyle(document.documentElement).getPropertyValue("--surface");
    context.fillRect(0, 0, all.width, all.height);
    let at = 0;
    for (const one of canvases) {
      context.drawImage(one, 0, at);
      at += one.height;
    }
    all.toBlob((blob) => save(blob, `${name}.png`));
  } }, "PNG");
}

/** Hands a file to the browser. */
export function save(blob, name) {
  const url = URL.createObjectURL(blob);
  const anchor = h("a", { href: url, download: name });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
