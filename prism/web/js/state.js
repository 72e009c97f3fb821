// Keep the state of a page in its address: #/jobs/d6002a93?steps=8:12&ranks=0:64. A link shows every reader the same.

/** Parses the address: {parts: ["jobs", id], query: {steps: "8:12"}}. */
export function here() {
  const [path, search = ""] = location.hash.replace(/^#\/?/, "").split("?");
  const parts = path.split("/").filter(Boolean).map(decoded);
  return { parts, query: Object.fromEntries(new URLSearchParams(search)) };
}

/** Builds an internal link without empty values. The current replay or time range stays. */
export function link(parts, query = {}) {
  const { query: now } = here();
  const kept = Object.fromEntries(["replay", "from", "to", "hints"].filter((name) => now[name]).map((name) => [name, now[name]]));
  const all = { ...kept, ...query };
  const search = new URLSearchParams(Object.entries(all).filter(([, value]) => value !== null && value !== undefined && value !== ""));
  const text = search.toString().replaceAll("%3A", ":");
  return `#/${parts.map(encodeURIComponent).join("/")}${text ? `?${text}` : ""}`;
}

/** Changes the parameters of this page without a history entry; the page has drawn the change already. */
export function note(query) {
  const { parts, query: before } = here();
  history.replaceState(null, "", link(parts, { ...before, ...query }));
}

/** Opens the result of a time range without a history entry. */
export function past(query) {
  note(query);
  window.dispatchEvent(new HashChangeEvent("hashchange"));
}

/** Parses "a:b" of whole numbers, or null; long numbers lose digits. */
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
