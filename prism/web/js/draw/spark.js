// Small pictures inside a line of text: step times, shares of phases, a meter.

import { h, svg } from "../dom.js";
import { duration, likely, percent, sureness } from "../format.js";
import { PHASE_ORDER, phase, tints } from "../palette.js";

/** Step times as a line from 0; slow ones are higher. `what`: title; `told` formats a value; `most`: top of the scale. */
export function spark(values, { width = 132, height = 26, what = "Step times", told = duration, most = null } = {}) {
  const known = values.filter((one) => Number.isFinite(one));
  if (known.length < 2) return h("span", { class: "muted" }, "–");
  const top = most ?? Math.max(...known) * 1.02;
  const x = (at) => (at / (values.length - 1)) * (width - 4) + 2;
  const y = (ms) => height - 2 - (ms / top) * (height - 4);
  const points = values.map((ms, at) => (Number.isFinite(ms) ? `${x(at).toFixed(1)},${y(ms).toFixed(1)}` : null)).filter(Boolean);
  const label = `${what}, ${told(Math.min(...known))} to ${told(Math.max(...known))}, the last ${told(known.at(-1))}`;
  return svg(
    "svg",
    { class: "spark", viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label },
    svg("polygon", { class: "area", points: `2,${height - 2} ${points.join(" ")} ${width - 2},${height - 2}` }),
    svg("polyline", { points: points.join(" ") }),
    svg("circle", { cx: x(values.length - 1), cy: y(known.at(-1)), r: 2 }),
  );
}

/** Shares of phases as one bar; with `named` also in words. */
export function shares(phases, { named = false, width = null } = {}) {
  const parts = PHASE_ORDER.filter((word) => phases?.[word] > 0.004).map((word) => [word, phases[word]]);
  if (!parts.length) return h("span", { class: "muted" }, "–");
  const text = parts.map(([word, share]) => `${phase(word).label} ${percent(share)}`).join(", ");
  const bar = h("span", { class: "shares", role: "img", "aria-label": text, title: text, style: width ? { width } : {} }, parts.map(([word, share]) => swatch(word, share)));
  return named ? h("div", { class: "shares-named" }, bar, legend(parts)) : bar;
}

function swatch(word, share = null) {
  return h("i", { key: word, class: phase(word).hatched ? "tinted hatched" : "tinted", style: { ...tints(word), ...(share === null ? {} : { "flex-grow": String(share) }) } });
}

/** Phases by colour and name. parts: [[word, share or null], …]. */
export function legend(parts) {
  return h("ul", { class: "legend" }, parts.map(([word, share]) => h("li", { key: word }, swatch(word), phase(word).label, share === null ? null : h("b", {}, percent(share)))));
}

/** Confidence as a bar, a number and a word. */
export function confidence(share) {
  if (share === null || share === undefined) return h("span", { class: "muted" }, "–");
  const low = share < 0.7;
  return h(
    "span",
    { class: `confidence${low ? " low" : ""}`, title: `inferred; ${likely(share)} of such claims should be right` },
    h("span", { class: "meter", "aria-hidden": "true" }, h("i", { style: { width: `${share * 100}%` } })),
    `${likely(share)} ${sureness(share)}`,
  );
}
