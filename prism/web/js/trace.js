// Open a job's trace with one click: in Perfetto if the service names one, else saved. Perfetto's protocol for deep links: PING until it
// answers PONG, then the trace.

import { h } from "./dom.js";
import { save } from "./export.js";

const PING_MS = 100;
const PATIENCE = 100; // pings

/** The button. */
export function traceButton(source, id) {
  if (!source.live) return null;
  return h("button", { type: "button", class: "link", id: "trace", onclick: async (event) => {
    const button = event.currentTarget;
    const where = await source.perfetto();
    const other = where ? window.open(where) : null; // before the trace arrives: browsers block windows that open later
    button.textContent = "Trace …";
    try {
      const file = await source.file(`/jobs/${encodeURIComponent(id)}/trace`, {}, "application/json");
      if (other) await hand(other, new URL(where).origin, await file.arrayBuffer(), id);
      else save(file, `job-${id}.json`);
      button.textContent = "Trace";
    } catch (error) {
      button.textContent = `▲ ${error.message}`;
    }
  } }, "Trace");
}

function hand(other, origin, buffer, id) {
  return new Promise((done, failed) => {
    let pings = 0;
    const timer = setInterval(() => {
      pings += 1;
      if (pings > PATIENCE) stop(() => failed(new Error("Perfetto does not answer.")));
      else other.postMessage("PING", origin);
    }, PING_MS);
    const heard = (event) => {
      if (event.source !== other || event.origin !== origin || event.data !== "PONG") return;
      stop(() => {
        other.postMessage({ perfetto: { buffer, title: `Prism: job ${id}` } }, origin);
        done();
      });
    };
    const stop = (then) => {
      clearInterval(timer);
      window.removeEventListener("message", heard);
      then();
    };
    window.addEventListener("message", heard);
  });
}
