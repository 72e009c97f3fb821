"""`prism metrics`: figures of jobs from traffic alone, compared with earlier runs and with other tools."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from collectors.cli.errors import report_errors
from collectors.cli.file_arguments import named_inputs
from collectors.files.atomic_files import atomic_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prism.model import Diagnosis

MAX_FILE_OCTETS = 256 << 20  # octets of a file of another tool


def metrics(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Captures or flow records, as for prism replay.")],
    topology: Annotated[str | None, typer.Option(metavar="FILE", help="Host, rail and leaf of each address.")] = None,
    hints: Annotated[str | None, typer.Option(metavar="FILE", help="Facts about the site and its jobs.")] = None,
    against: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="Metrics of an earlier run (--json); repeatable.")
    ] = None,
    beside: Annotated[
        list[str] | None,
        typer.Option(metavar="FILE", help="NCCL Inspector JSON, or Prometheus metrics of DCGM or xpu_timer; repeatable."),
    ] = None,
    gpu: Annotated[str, typer.Option(metavar="TYPE", help="Type of GPU, such as h100: gives model FLOPs utilisation.")] = "",
    link_gbps: Annotated[float, typer.Option(min=0, help="Rate of a NIC, Gbit/s: gives its share in use.")] = 0,
    hidden: Annotated[int, typer.Option(min=0, help="Hidden size of the model: gives tokens.")] = 0,
    json: Annotated[str | None, typer.Option(metavar="FILE", help="Write the metrics (JSON); - for standard output.")] = None,
) -> None:
    """Measure each job: effective training time, lateness, void share, bus bandwidth, work; and compare with earlier runs.

    Only runs of the same fingerprint (ranks, layout, volumes) are compared. Exit status: 0; 3 with a regression; 2 on bad
    input.
    """
    with report_errors("prism"):
        from json import dumps

        from prism.cli.offline.command_io import read_hints, read_topology
        from prism.recordings.file_analysis import replay

        placed = read_topology(topology) if topology else None
        past = _earlier(against or [])
        other_tools = list(_read_other_tools(beside or []))
        diagnosis = replay(named_inputs(files), placed, hints=read_hints(hints) if hints else None)
        document = _document(diagnosis, past, other_tools, {"gpu": gpu, "link_bits_per_s": link_gbps * 1e9, "hidden": hidden})
        text = dumps(document, indent=1) + "\n"
        if json == "-":
            sys.stdout.write(text)
        else:
            if json:
                with atomic_path(json) as name:
                    Path(name).write_text(text, encoding="utf-8")
            typer.echo("\n".join(_text(document)))
        if any(one["worse"] for job in document["jobs"] for one in job["changed"]):
            raise typer.Exit(3)


def _document(
    diagnosis: Diagnosis, past: list[Any], other_tools: list[dict[str, Any]], given: dict[str, Any]
) -> dict[str, Any]:
    import numpy as np

    from prism.metrics import metrics_document as document
    from prism.metrics.aggregate_metrics import aggregate
    from prism.metrics.ettr import ettr, step_ends
    from prism.metrics.model_estimates import estimate_model
    from prism.metrics.regressions import compare, drift, figures, fingerprint, same_job

    jobs = []
    for job in diagnosis.jobs:
        own = aggregate(job)
        if own is None:
            continue
        before = [run for print_, run in past if same_job(fingerprint(own), print_)]
        ratio = ettr(job, diagnosis.findings, until_ns=diagnosis.source.end_ns)
        guessed = estimate_model(own, activation_octets=own.activation_octets, **given)
        own_drift = drift(np.diff(step_ends(job)) / 1e9)
        more = {"compared_with": len(before), "drift": vars(own_drift) if own_drift else None}
        jobs.append(document.job(own, ratio, compare(figures(own), before), guessed) | more)
    return {"schema": document.SCHEMA, "input": {"files": list(diagnosis.source.files)}, "jobs": jobs, "beside": other_tools}


def _earlier(paths: list[str]) -> list[Any]:
    from json import loads

    from prism.metrics.metrics_document import earlier

    out = []
    for path in paths:
        try:
            out += earlier(loads(Path(path).read_text(encoding="utf-8", errors="replace")), path)
        except RecursionError:
            raise ValueError(f"{path}: nested too deeply") from None
    return out


def _read_other_tools(paths: list[str]) -> Iterator[dict[str, Any]]:
    from prism.metrics import nccl_inspector, prometheus_metrics

    for path in paths:
        if Path(path).stat().st_size > MAX_FILE_OCTETS:
            raise ValueError(f"{path}: more than {MAX_FILE_OCTETS >> 20} MiB; give a part of it")
        text = Path(path).read_text(encoding="utf-8", errors="replace")
        if text.lstrip().startswith("{"):
            found = nccl_inspector.summarise(list(nccl_inspector.parse(text)))
            if not found:
                raise ValueError(f"{path}: no collectives of NCCL Inspector in this file")
            yield {"file": path, "kind": "nccl-inspector", "collectives": [vars(one) for one in found[:100]]}
            continue
        samples = list(prometheus_metrics.parse(text.splitlines()))
        if not samples:
            raise ValueError(f"{path}: neither NCCL Inspector JSON nor Prometheus metrics")
        remarks = [vars(one) for one in prometheus_metrics.notable_series(samples)]
        yield {"file": path, "kind": "prometheus", "series": len(samples), "remarks": remarks}


def _text(document: dict[str, Any]) -> Iterator[str]:
    if not document["jobs"]:
        yield "No job with enough steps."
    for job in document["jobs"]:
        layout = " × ".join(f"{kind.upper()} {size}" for kind, size in job["fingerprint"]["layout"].items() if size > 1)
        yield f"job {job['id']}: {job['fingerprint']['ranks']} ranks, {layout}, step {job['step_s']['median']:.4g} s"
        ettr = job["ettr"]
        if ettr["ratio"] is not None:
            lost = ", ".join(f"{reason} {seconds:.3g} s" for reason, seconds in ettr["lost_s"].items() if seconds)
            yield f"  effective training time {ettr['ratio']:.1%}" + (f"; lost: {lost}" if lost else "")
        for one in job["lateness_s"]:
            yield f"  {one['kind']} lateness {one['median'] * 1e3:.3g} ms, p95 {one['p95'] * 1e3:.3g}; latest {one['worst']}"
        if job["void_share"]["median"] is not None:
            yield f"  void share {job['void_share']['median']:.1%}"
        for one in job["bus_bandwidth"]:
            rate = one["bits_per_s"]["median"] / 1e9
            yield f"  {one['kind']} bus bandwidth {rate:.3g} Gbit/s ({one['groups']} groups of {one['members']})"
        for one in job["work_s"]:
            micro = f", {one['per_micro_batch'] * 1e3:.3g} ms per micro-batch" if "per_micro_batch" in one else ""
            yield f"  stage {one['stage']} works {one['median'] * 1e3:.4g} ms per step{micro}"
        for one in job["estimates"]:
            between = f" ({one['low']:.3g} to {one['high']:.3g})" if one["low"] != one["high"] else ""
            yield f"  estimate: {one['name']} {one['value']:.3g} {one['unit']}{between}; assumes: {one['assumption']}"
        if job["drift"]:
            yield f"  within this run: last third of the steps × {job['drift']['ratio']:.3f} of the first"
        yield f"  compared with {job['compared_with']} earlier runs: " + _changes(job["changed"])
    yield from _other_tools_text(document["beside"])


def _other_tools_text(other_tools: list[dict[str, Any]]) -> Iterator[str]:
    for one in other_tools:
        yield f"{one['file']}: {one['kind']}"
        for own in one.get("collectives", [])[:5]:
            slow = f"; slow ranks {[rank for rank, *_ in own['slow']]}" if own["slow"] else ""
            rate = own["bus_bits_per_s"] / 1e9
            yield f"  {own['kind']} of {own['octets']:,} octets over {own['ranks']}: {rate:.4g} Gbit/s{slow}"
        for own in one.get("remarks", [])[:10]:
            ratio = f" (× {own['ratio']})" if own["ratio"] is not None else ""
            yield f"  {own['place']}: {own['name']} is {own['value']:g}: {own['what']}{ratio}"


def _changes(changed: list[dict[str, Any]]) -> str:
    texts = [f"{one['name']} × {one['ratio']:.3f} ({'worse' if one['worse'] else 'better'})" for one in changed]
    return "; ".join(texts) or "no difference"


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(metrics)
