// The dashboard of a service.

import { alerts } from "./pages/alerts.js";
import { compare } from "./pages/compare.js";
import { finding, findings } from "./pages/findings.js";
import { health } from "./pages/health.js";
import { incident } from "./pages/incident.js";
import { job } from "./pages/job.js";
import { overview } from "./pages/overview.js";
import { place } from "./pages/place.js";
import { replay } from "./pages/replay.js";
import { reports } from "./pages/reports.js";
import { switches } from "./pages/switches.js";
import { run } from "./shell.js";
import { service } from "./source.js";
import { here } from "./state.js";

const PLACES = [
  ["overview", "Overview", "o"],
  ["findings", "Findings", "f"],
  ["alerts", "Alerts", "a"],
  ["switches", "Switches", "s"],
  ["reports", "Reports", "e"],
  ["replay", "Replay", "r"],
  ["health", "Health", "h"],
];

run(
  service("api/v1", () => here().query.replay ?? null),
  { overview, jobs: job, findings: (context) => (context.parts[1] ? finding(context) : findings(context)), alerts, compare, incidents: incident, switches, places: place, reports, replay, health },
  PLACES,
);
