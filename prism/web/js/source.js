// Get the data of the pages: from the service, by REST and server-sent events, or from the report file.

/** An error with a text for users. */
export class Refused extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const NEWEST = ["/diagnoses", "/compare", "/remarks", "/actions", "/notifications"]; // these have no replay
const OWN = /^\/(replays|incidents)/; // nor do paths below these

/** The service. `get(path, query)` fetches JSON; `listen({board, replay, state})` calls back until it is closed. */
export function service(base = "api/v1", replay = () => null) {
  const address = (path, query = {}) => {
    const asked = { ...(replay() && !OWN.test(path) && !NEWEST.includes(path) ? { replay: replay() } : {}), ...query };
    const known = Object.entries(asked).filter(([, value]) => value !== null && value !== undefined && value !== "");
    const text = new URLSearchParams(known).toString();
    return `${base}${path}${text ? `?${text}` : ""}`;
  };
  let index = null; // index of the service
  return {
    live: true,
    /** Checks whether the service offers a collection, by its index. */
    has: async (name) => {
      index ??= sent(base).then(answered);
      return name in (await index).links;
    },
    get: async (path, query) => answered(await sent(address(path, query))),
    /** Address of Perfetto; null if traces are downloaded. */
    perfetto: async () => {
      index ??= sent(base).then(answered);
      return (await index).perfetto ?? null;
    },
    send: async (path, body) => {
      const answer = await sent(`${base}${path}`, { method: "POST", body });
      const place = answer.headers.get("Location");
      return { place, body: await answered(answer) };
    },
    file: async (path, query, kind) => {
      const answer = await sent(address(path, query), { headers: { Accept: kind } });
      return answer.ok ? answer.blob() : answered(answer);
    },
    say: async (path, value) => answered(await sent(address(path), { method: "POST", body: JSON.stringify(value), headers: { Accept: "application/json", "Content-Type": "application/json" } })),
    drop: async (path) => answered(await sent(`${base}${path}`, { method: "DELETE" })),
    signIn: async (token) => answered(await sent(`${base}/session`, { method: "POST", headers: { Authorization: `Bearer ${token}` } })),
    listen: ({ board, replay: progress, state }) => {
      const events = new EventSource(`${base}/events`);
      events.addEventListener("open", () => state(true));
      events.addEventListener("error", () => state(false));
      events.addEventListener("board", (event) => board(JSON.parse(event.data)));
      events.addEventListener("replay", (event) => progress(JSON.parse(event.data)));
      return () => events.close();
    },
  };
}

/** Embedded answers by path and measure; all other data is missing. */
export function embedded(documents) {
  return {
    live: false,
    has: async () => false,
    get: async (path, query = {}) => {
      const [name] = ["by", "measure"].filter((one) => query[one]);
      const found = documents[name ? `${path}?${name}=${query[name]}` : path];
      if (found === undefined) throw new Refused(404, "This part is not in the report.");
      return found;
    },
    listen: () => () => {},
  };
}

async function sent(address, options) {
  try {
    return await fetch(address, { headers: { Accept: "application/json" }, cache: "no-cache", ...options });
  } catch {
    throw new Refused(0, "The service does not answer.");
  }
}

async function answered(answer) {
  const text = await answer.text();
  let body = null;
  try {
    body = text ? JSON.parse(text) : null;
  } catch {
    throw new Refused(answer.status, `The service answered ${answer.status} with something that is not JSON.`);
  }
  if (!answer.ok) throw new Refused(answer.status, body?.detail ?? body?.title ?? `The service answered ${answer.status}.`);
  return body;
}
