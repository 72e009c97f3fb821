// A report in one file: the same pages, with embedded answers.

import { finding, findings } from "./pages/findings.js";
import { job } from "./pages/job.js";
import { overview } from "./pages/overview.js";
import { switches } from "./pages/switches.js";
import { run } from "./shell.js";
import { embedded } from "./source.js";

run(
  embedded(JSON.parse(document.getElementById("documents").textContent)),
  { overview, jobs: job, findings: (context) => (context.parts[1] ? finding(context) : findings(context)), switches },
  [["overview", "Overview", "o"], ["findings", "Findings", "f"], ["switches", "Switches", "s"]],
);
