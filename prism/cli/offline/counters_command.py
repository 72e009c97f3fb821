"""`prism counters`: jobs from port counters alone."""

from __future__ import annotations

import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from collectors.cli.errors import report_errors

if TYPE_CHECKING:
    from prism.counters.counter_rates import Rates
    from prism.counters.port_jobs import OddPort, PortJob
    from prism.counters.server_checks import Agreement

MAX_PORTS = 4  # ports of a job in the text


def counters(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE",
            help="Counters of octets: CSV or Parquet (time, switch, port, in_octets, out_octets), gNMI or Prometheus JSON, "
            "SNMP walks, captures of sFlow.",
        ),
    ],
    mapping: Annotated[
        str | None, typer.Option(metavar="FILE", help="Column mapping of tables (YAML or JSON): our name: their name.")
    ] = None,
    bin_s: Annotated[float, typer.Option("--bin", min=0, help="Length of a bin, s; 0: the distance between polls.")] = 0,
    topology: Annotated[
        str | None, typer.Option(metavar="FILE", help="Server at each leaf's port: checks that its NICs agree.")
    ] = None,
    nics: Annotated[
        bool, typer.Option("--nics", help="The counters are of NICs: what names a switch elsewhere is the server.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find the ports of one period: jobs, their period, changes of pace, and the port that differs from its peers.

    Needs no flows. Exit status: 0, or 2 on bad input.
    """
    with report_errors("prism"):
        from json import dumps

        from prism.counters.counter_files import read
        from prism.counters.counter_rates import rates
        from prism.counters.port_jobs import port_jobs

        grid = rates(read(files, _mapping(mapping) if mapping else None), bin_ns=round(bin_s * 1e9))
        jobs = port_jobs(grid, _servers(grid, topology, nics=nics))
        if json:
            sys.stdout.write(dumps(_document(grid, jobs), indent=1) + "\n")
            return
        for line in _text(grid, jobs):
            typer.echo(line)


def _servers(grid: Rates, topology: str | None, *, nics: bool) -> dict[tuple[str, str], str]:
    from prism.cli.offline.command_io import read_topology
    from prism.counters.server_checks import by_name, by_topology

    if nics:
        return by_name(grid.ports)
    return by_topology(grid.ports, read_topology(topology)) if topology else {}


def _mapping(path: str) -> dict[str, str]:
    from collectors.files.documents import load_json, load_yaml

    text = Path(path).read_text(encoding="utf-8-sig", errors="replace")
    document = load_json(text, path) if path.endswith(".json") else load_yaml(text, path)
    if not isinstance(document, dict) or not all(isinstance(value, str) for value in document.values()):
        raise ValueError(f"{path}: must be a mapping of names to names")
    return {str(key): value for key, value in document.items()}


def _document(grid: Rates, jobs: tuple[PortJob, ...]) -> dict[str, Any]:
    return {
        "schema": "prism-counters/1",
        "input": {"ports": len(grid.ports), "bins": grid.octets.shape[1], "bin_s": grid.seconds, "start_ns": grid.start_ns},
        "wraps": grid.wraps,
        "restarts": grid.restarts,
        "jobs": [
            {
                "ports": [list(port) for port in one.ports],
                "roles": [[list(port) for port in role] for role in one.roles],
                "period_s": round(one.period_s, 4) if math.isfinite(one.period_s) else None,
                "octets_per_s": round(one.octets_per_s),
                "confidence": one.confidence,
                "agreement_of_halves": one.agreement,
                "agreement_of_nics": _agreement(one.servers),
                "odd": [_odd(own) for own in one.odd],
                "changes": [{"time_ns": own.time_ns, "ratio": own.ratio} for own in one.changes],
            }
            for one in jobs
        ],
    }


def _agreement(own: Agreement) -> dict[str, Any] | None:
    if not own.servers:
        return None
    split = [
        {"server": one.server, "inside": [list(port) for port in one.inside], "outside": [list(port) for port in one.outside]}
        for one in own.split
    ]
    return {"servers": own.servers, "share": round(own.share, 3), "split": split}


def _odd(own: OddPort) -> dict[str, Any]:
    return {"port": list(own.port), "what": own.what, "ratio": own.ratio, "confidence": own.confidence}


def _text(grid: Rates, jobs: tuple[PortJob, ...]) -> list[str]:
    out = [f"{len(grid.ports):,} ports, {grid.octets.shape[1]:,} bins of {grid.seconds:g} s"]
    if grid.wraps or grid.restarts:
        out.append(f"note: {grid.wraps} counters of 32 bits wrapped, {grid.restarts} counters restarted")
    if not jobs:
        return [*out, "No ports share a period."]
    for number, one in enumerate(jobs, 1):
        period = f"period {one.period_s:.3g} s" if math.isfinite(one.period_s) else "period shorter than the polls show"
        out.append(
            f"job {number}: {len(one.ports)} ports, {period}, {one.octets_per_s * 8 / 1e9:.3g} Gbit/s, "
            f"confidence {one.confidence:.0%}: {_listed(one.ports)}"
        )
        if one.servers.servers:
            apart = ", ".join(own.server for own in one.servers.split[:MAX_PORTS])
            lines = f"; not those of {apart}" if apart else ""
            out.append(f"  the NICs of {one.servers.share:.0%} of {one.servers.servers} servers are all in it{lines}")
        out += [f"  pace × {own.ratio:.3g} from {own.time_ns / 1e9:.0f} s since the epoch on" for own in one.changes]
        out += [
            f"  odd port {'/'.join(own.port)}: {own.what} × {own.ratio:.3g} of its peers ({own.confidence:.0%})"
            for own in one.odd
        ]
    return out


def _listed(ports: tuple[tuple[str, str], ...]) -> str:
    more = f" and {len(ports) - MAX_PORTS} more" if len(ports) > MAX_PORTS else ""
    return ", ".join("/".join(filter(None, port)) for port in ports[:MAX_PORTS]) + more


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(counters)
