// The state of the page is its address: #/jobs/d6002a93?steps=8:12&ranks=0:64. Whoever opens the link sees the same.

/** Where we are: {parts: ["jobs", id], query: {steps: "8:12"}}. */
export function here() {
  const [path, search = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decoded);
  return { parts, query: Object.fromEntries(new URLSearchParams(search)) };
}

/** A link inside; what is empty is left out. The replay, or the stretch of time, that is looked at stays. */
export function link(parts, query = {}) {
  const { query: now } = here();
  const kept = Object.fromEntries(["replay", "from", "to", "hints"].filter((name) => now[name]).map((name) => [name, now[name]]));
  const all = { ...kept, ...query };
  const search = new URLSearchParams(Object.entries(all).filter(([, value]) => value !== null && value !== undefined && value !== ""));
  const text = search.toString().replaceAll("%3A", ":");
  return `#/${parts.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/** Changes what is asked of this page without a step in the history; the page has drawn it already. */
export function note(query) {
  const { parts, query: before } = here();
  history.replaceState(null, "", link(parts, { ...before, ...query }));
}

/** Goes to what a stretch of time was found to be, without a step in the history. */
export function past(query) {
  note(query);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

/** A pair "a:b" of whole numbers, or null; long ones lose digits. */
export function pair(text) {
  const found = /^(\d+):(\d+)$/.exec(text ?? "");
  return found ? [Number(found[1]), Number(found[2])] : null;
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
