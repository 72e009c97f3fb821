// Format numbers and times. Times are text of int64 ns, which only BigInt can hold.

const THIN = "\u202f";

/** Returns ms between two times. */
export const between = (start, end) => Number(BigInt(end) - BigInt(start)) / 1e6;

/** Adds `ms` to a time; text of ns. */
export const later = (start, ms) => String(BigInt(start) + BigInt(Math.round(ms * 1e6)));

/** Formats a duration with about three digits. */
export function duration(ms) {
  if (ms === null || ms === undefined || !Number.isFinite(ms)) return "–";
  const size = Math.abs(ms);
  if (ms === 0) return "0";
  if (size < 1) return `${(ms * 1000).toPrecision(3)} µs`.replace(/\.0+ /, " ");
  if (size < 999.5) return `${Number(ms.toPrecision(3))} ms`;
  if (size < 100_000) return `${(ms / 1000).toFixed(size < 10_000 ? 2 : 1)} s`;
  const seconds = Math.round(size / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86_400)} d ${Math.floor((seconds % 86_400) / 3600)} h`;
}

/** Returns the time zone of the pages: the reader's own, or UTC if selected. */
export function zone() {
  let chosen = null;
  try {
    chosen = localStorage.getItem("prism-zone");
  } catch {
    // storage may be unavailable
  }
  return chosen ?? Intl.DateTimeFormat().resolvedOptions().timeZone ?? "UTC";
}

/** Formats a time in the selected zone; `brief` without date and zone. */
export function moment(ns, { brief = false } = {}) {
  if (!ns || ns === "0") return "–";
  const date = new Date(Number(BigInt(ns) / 1_000_000n));
  if (zone() === "UTC") {
    const text = date.toISOString();
    return brief ? text.slice(11, 19) : `${text.slice(0, 10)} ${text.slice(11, 19)} UTC`;
  }
  const time = date.toLocaleTimeString("sv-SE");
  return brief ? time : `${date.toLocaleDateString("sv-SE")} ${time} ${offset(date)}`;
}

/** Returns the offset of the reader's zone from UTC at a time: +02:00. */
function offset(date) {
  const minutes = -date.getTimezoneOffset();
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `${minutes < 0 ? "−" : "+"}${String(hours).padStart(2, "0")}:${String(rest).padStart(2, "0")}`;
}

/** Zone after a time of day. */
export const zoned = () => (zone() === "UTC" ? " UTC" : "");

/** Formats a time since `zero`: +9.5 s. */
export function since(zero, ns) {
  const exact = between(zero, ns);
  const ms = Math.abs(exact) < 50 ? 0 : exact; // a job may start a moment before the first complete record
  return `${ms < 0 ? "−" : "+"}${duration(Math.abs(ms))}`;
}

/** Formats a whole number with thin spaces between thousands. */
export function count(n) {
  if (n === null || n === undefined) return "–";
  return Math.round(n).toString().replace(/\B(?=(\d{3})+$)/g, THIN);
}

/** Formats octets with decimal units: kB, MB, GB, TB. */
export function octets(n) {
  if (n === null || n === undefined) return "–";
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  const place = n < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(n) / 3));
  const value = n / 1000 ** place;
  return `${place ? value.toFixed(value < 10 ? 1 : 0) : value} ${units[place]}`;
}

/** Formats a share 0 … 1 in percent. */
export const percent = (share) => (share === null || share === undefined ? "–" : `${Math.round(share * 100)}${THIN}%`);

/** Formats a probability or confidence 0 … 1: 99 % at most, since nothing inferred is certain. */
export const likely = (share) => percent(typeof share === "number" ? Math.min(share, 0.99) : share);

/** Formats the cost for all GPUs: GPU-seconds or GPU-hours. */
export function lost(seconds) {
  if (!seconds || seconds < 0.5) return "–";
  return seconds < 3600 ? `${count(seconds)} GPU-s` : `${(seconds / 3600).toFixed(seconds < 36_000 ? 1 : 0)} GPU-h`;
}

/** Formats sizes of the parallel dimensions: DP 2 × PP 4. */
export function layout(sizes) {
  const named = ["dp", "pp", "tp", "ep", "cp"].filter((kind) => sizes[kind] > 1).map((kind) => `${kind.toUpperCase()} ${sizes[kind]}`);
  return named.join(" × ") || "not known";
}

/** Describes a confidence of 0 … 1 in words. */
export function sureness(confidence) {
  if (confidence >= 0.9) return "sure";
  if (confidence >= 0.7) return "likely";
  return confidence >= 0.5 ? "unsure" : "a guess";
}

/** Sorts leaf2 before leaf10. */
export const natural = (a, b) => a.localeCompare(b, "en", { numeric: true });

/** Formats `slow_rank` as words. */
export const words = (name) => name.replaceAll("_", " ");

/** Lists names; the rest is counted. */
export function names(ids, most = 3, joint = ", ") {
  return ids.slice(0, most).join(joint) + (ids.length > most ? ` and ${count(ids.length - most)} more` : "");
}
