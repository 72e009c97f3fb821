// Colours of data, by theme. Heat differs in luminance alone, so it is readable without hue; phases use Okabe and Ito's colours.

const HEAT = {
  light: ["#eef0f2", "#fbe3b5", "#f6b35c", "#dd6b2f", "#a32a2f", "#4d1029"],
  dark: ["#22262b", "#4b2a4f", "#97305f", "#d9543f", "#f59a3c", "#fdea9b"],
};
const VOLUME = {
  light: ["#f1f3f5", "#c9dcf2", "#8db9e6", "#4a8bd0", "#2359a6", "#102c66"],
  dark: ["#1e2227", "#1d3557", "#23559a", "#3f86d1", "#84bbee", "#e0f0ff"],
};
const DEVIATION = {
  light: ["#1b4690", "#7fa9dd", "#eef0f2", "#ef9f57", "#8a1730"],
  dark: ["#86b8f5", "#2f5f9f", "#24282e", "#c0603a", "#ffd28c"],
};
const PHASES = {
  forward: { light: "#56b4e9", dark: "#56b4e9", label: "forward", ink: "#08263a" },
  backward: { light: "#0072b2", dark: "#2a8fd0", label: "backward", ink: "#ffffff" },
  compute: { light: "#7aa6c2", dark: "#6d9cba", label: "compute", ink: "#08263a" },
  optimizer: { light: "#009e73", dark: "#1bb58a", label: "optimizer", ink: "#ffffff" },
  dp: { light: "#e69f00", dark: "#f0ad1c", label: "DP", ink: "#2b1d00" },
  pp: { light: "#cc79a7", dark: "#d98bb6", label: "PP", ink: "#2d0d1f" },
  tp: { light: "#d55e00", dark: "#e8762a", label: "TP", ink: "#ffffff" },
  ep: { light: "#f0e442", dark: "#f0e442", label: "EP", ink: "#2e2b00" },
  cp: { light: "#8c6bb1", dark: "#a587c8", label: "CP", ink: "#ffffff" },
  step: { light: "#a9b6c4", dark: "#5b6a79", label: "step", ink: "#101214" },
  unknown: { light: "#9aa0a6", dark: "#868d95", label: "unknown", ink: "#101214" },
  idle: { light: "#e9ebee", dark: "#2b3036", label: "idle", ink: { light: "#5c636b", dark: "#a6adb5" }, hatched: true },
};
/** Order of phases in lists: work, traffic, waiting. */
export const PHASE_ORDER = Object.keys(PHASES);

const WORK = new Set(["forward", "backward", "compute", "optimizer", "idle", "unknown"]);

/** Returns the current theme. */
export const theme = () => (document.documentElement.dataset.theme === "dark" ? "dark" : "light");

/** Returns colour, ink and label of a phase; those of `unknown` for an unknown word. */
export function phase(word) {
  const found = PHASES[word] ?? PHASES.unknown;
  return { colour: found[theme()], ink: found.ink[theme()] ?? found.ink, label: found.label, hatched: Boolean(found.hatched), traffic: !WORK.has(word) };
}

/** Returns the colours of a phase for style.css: one per theme. */
export function tints(word) {
  const { light, dark } = PHASES[word] ?? PHASES.unknown;
  return { "--light": light, "--dark": dark };
}

/** Returns 256 colours as [r, g, b] from low to high. `name`: heat, volume, or deviation (neutral in the middle). */
export function ramp(name) {
  const stops = ({ volume: VOLUME, deviation: DEVIATION }[name] ?? HEAT)[theme()].map(rgb);
  return Array.from({ length: 256 }, (_, place) => {
    const at = (place / 255) * (stops.length - 1);
    const low = Math.min(stops.length - 2, Math.floor(at));
    return stops[low].map((part, i) => Math.round(part + (stops[low + 1][i] - part) * (at - low)));
  });
}

const rgb = (hex) => [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));

/** Returns a colour declared in style.css. */
export const token = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** Sign of each severity, beside its colour. */
export const SIGNS = { critical: "■", warning: "▲", info: "○" };
