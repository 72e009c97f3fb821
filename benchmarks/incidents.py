"""Score the joint verdict of logs and flows on recorded runs: python -m benchmarks.incidents LOGS FLOWS [--without GLOB].

LOGS has a folder for each run as benchmarks.logs takes it, FLOWS one of the same name with captures and topology.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from collectors.columns.record import Flows
from prism.incidents.incident import Incident, join_incident
from prism.logs.log_files_diagnosis import diagnose_files
from prism.recordings.file_analysis import replay
from prism.topology import Endpoint, Topology


def incident(logs: Sequence[str], folder: Path, topology: Topology) -> Incident:
    """Compute the incident of one run."""
    kept: list[Flows] = []

    def keep(flows: Flows) -> Flows:
        kept.append(flows)
        return flows

    captures = [
        (one.name.split(".")[0], str(one)) for one in sorted(folder.glob("*.pcap.gz")) if not one.name.startswith("merged")
    ]
    seen = replay(captures, topology, keep=keep)
    return join_incident(diagnose_files(logs), seen, kept[0], topology)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logs")
    parser.add_argument("flows")
    parser.add_argument("--without", default="", help="leave out log files whose name begins so, such as dmesg")
    given = parser.parse_args(arguments)
    total = right = cause = wrong = healthy = alarms = agreed = steps = stepped = 0
    for path in sorted(Path(given.logs).glob("*/truth.json")):
        truth = json.loads(path.read_text())
        place = Path(given.flows) / path.parent.name
        whole = json.loads((place / "truth.json").read_text())
        ranks = next(iter(whole["jobs"].values()))["ranks"]
        topology = Topology({one["ip"]: Endpoint(f"node{one['server']:02d}", 0, one["leaf"]) for one in ranks})
        files = [
            one
            for one in sorted((path.parent / "logs").iterdir())
            if not given.without or not one.name.startswith(given.without)
        ]
        own = incident([str(one) for one in files], place, topology)
        check = next((one for one in own.checks if one.what == "step time"), None)
        if check is not None and check.agrees is False:
            print(f"{path.parent.name:32} step time: logs {check.logs}, flows {check.flows}")
        stepped += check is not None and check.agrees is not None
        steps += check is not None and bool(check.agrees)
        if not truth["failed"]:
            healthy, alarms = healthy + 1, alarms + own.failed
            continue
        node = next(one["ip"] for one in ranks if one["rank"] == truth["rank"])
        names = (f"rank {truth['rank']}", truth["host"])  # a run that failed before training has no job in the flows
        hit = own.endpoints[:1] == (node,) if own.endpoints else own.node in names
        total, right, cause = total + 1, right + hit, cause + (own.cause == truth["cause"])
        wrong += not hit and own.confidence >= 0.9
        agreed += bool(own.agrees)
        verdict = f"{own.node} {own.cause} ({truth['cause']}) {own.confidence} {own.agrees}"
        print(f"{path.parent.name:32} {'ok ' if hit else 'BAD'} {verdict}")
        if not hit:
            print("   ", *own.witnesses, sep="\n    ")
    print(f"{total} failed runs: node {right}, cause {cause}, both witnesses agree {agreed}, wrong at 90 % or more {wrong}")
    print(f"{healthy} healthy runs: {alarms} alarms; step times agree in {steps} of {stepped} runs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
