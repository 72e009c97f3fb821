"""Describe answers in OpenAPI: schemas, errors, other forms, and examples made by the same code as real answers."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import cache

import numpy as np
from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from collectors.columns.record import Flows
from collectors.store.retention import Status
from prism.api.requests.moments import add_time_texts
from prism.api.requests.problem_details import PROBLEM
from prism.api.requests.responses import CSV, JSON, PARQUET
from prism.api.schemas.grafana_annotations import annotated
from prism.api.schemas.job_schemas import Problem
from prism.exporters.export_survey import survey
from prism.exporters.exporter_report import exporter
from prism.exporters.live_survey import Port
from prism.feedback.remarks import Remark, labelled_findings
from prism.feedback.remarks import to_json as remark_json
from prism.inventory.bookings import Booking
from prism.lost_time.effective_time import effective
from prism.lost_time.lost_hours import lost
from prism.model import (
    PHASES,
    Alternative,
    Diagnosis,
    Event,
    Finding,
    Group,
    Isolation,
    Job,
    JobDiagnosis,
    Layout,
    Pair,
    Parallelism,
    Phases,
    Severity,
    Source,
    Spans,
    Timeline,
)
from prism.past.job_comparison import compared
from prism.rates.step_rates import Step, one_step
from prism.topology import Endpoint, Topology
from prism.tracking.board import Board, Gap, board_of
from prism.views import board_views, finding_views, timeline_views, traffic_views
from prism.views.board_views import Json
from prism.views.deviation_rows import arrange_rows
from prism.views.phase_shares import shares
from prism.views.rank_deviation import deviations
from prism.views.search import search
from prism.views.step_cells import CellRange

MARK, LIST = "example:", "[]"
MS, START = 1_000_000, 1_795_214_542_677_184_076
STORED = {"first_ns": str(START), "last_ns": str(START + MS)}
REASONS = {
    304: "The content has not changed since the tag in If-None-Match.",
    400: "A parameter is unknown, repeated, or has a value that is not allowed.",
    401: "The token is missing or not known.",
    403: "The token may only read, or the request is from a page of another site.",
    404: "Unknown id, or the service keeps no such data. The detail lists known ids.",
    406: "Accept names no form that this answer has. The detail names those it has.",
    409: "Not possible in the current state, or without effect. The detail has the reason.",
    413: "The body is larger than allowed.",
    421: "The service does not have the name of the Host header.",
    422: "A form or body is not valid. The detail names the field.",
    429: "Too many requests from this address. Retry-After has the time of the next try.",
    503: "A part of the service is busy or not ready. The detail names it.",
}
EVERYWHERE = (400, 401, 403, 421, 422, 429)


def error_responses(*more: int) -> dict[int | str, Json]:
    """List the errors of a route: those of all routes, and `more`."""
    schema = Problem.model_json_schema()
    out: dict[int | str, Json] = {}
    for status in sorted({*EVERYWHERE, *more}):
        example = {"type": "about:blank", "title": "…", "status": status, "detail": REASONS[status]}
        content = {"content": {PROBLEM: {"schema": schema, "example": example}}} if status != 304 else {}
        out[status] = {"description": REASONS[status]} | content
    return out


def item_responses(example: str, *more: int, status: int = 200) -> dict[int | str, Json]:
    """Describe the responses of a route that answers with one item."""
    return {status: {"content": {JSON: {"example": MARK + example}}}} | error_responses(304, 406, *more)


def list_responses(example: str, *more: int) -> dict[int | str, Json]:
    """Describe the responses of a route that answers with a list, in any of three forms."""
    text, octets = {"schema": {"type": "string"}}, {"schema": {"type": "string", "format": "binary"}}
    return {200: {"content": {JSON: {"example": f"{MARK}{example}{LIST}"}, CSV: text, PARQUET: octets}}} | error_responses(
        304, 406, *more
    )


def openapi_document(app: FastAPI) -> Json:
    """Generate the OpenAPI document. Examples are added last, because FastAPI drops their null values."""
    told = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
    for ways in told["paths"].values():
        for way in ways.values():
            for response in way["responses"].values():
                for content in response.get("content", {}).values():
                    if content.pop("itemSchema", None) is not None:  # from OpenAPI 3.2; in 3.1 a stream is text
                        content["schema"] = {"type": "string"}
                    mark = str(content.get("example", ""))
                    if mark.startswith(MARK):
                        content["example"] = add_time_texts(_example(mark.removeprefix(MARK)))
    return told


def _example(name: str) -> Json:
    one = examples()[name.removesuffix(LIST)]
    return {"items": [one], "next": None} if name.endswith(LIST) else one


@cache
def examples() -> dict[str, Json]:
    """Make an example of every answer from a small board."""
    board = _board()
    found, case = board.jobs[0].found, board.cases[0]
    columns = {"start_ns": [START], "end_ns": [START + MS], "src": [0], "dst": [1], "octets": [4 << 20], "packets": [1024]}
    flows = Flows.build(
        columns | {"messages": [1], "protocol": [17], "dst_port": [4791], "dst_qp": [71], "path": [1]},
        endpoints=found.job.endpoints,
        exporters=("leaf0",),
        paths=((), ("leaf0", "spine0", "leaf1")),
    )
    replay = {"id": "0123456789abcdef", "state": "running", "stage": "packets", "done": 65536, "total": 0, "error": None}
    stretch = {"start_ns": str(START), "end_ns": str(START + 2000 * MS), "truncated": False}
    counter = {"name": "prism_collect_datagrams", "labels": {"kind": "sflow"}, "value": 171767.0}
    return {
        "board": board_views.board(board, "live", 1.5),
        "jobs": board_views.jobs(board)[0],
        "job": board_views.job(board, "job-1") or {},
        "steps": timeline_views.steps(found),
        "timeline": timeline_views.timeline(found, topology=board.topology),
        "graph": traffic_views.graph(found, board.topology),
        "windows": board_views.windows(board)[0],
        "gaps": board_views.gaps(board)[0],
        "switches": stretch | traffic_views.switches(board, flows),
        "links": traffic_views.switches(board, flows)["links"][0],
        "flows": traffic_views.flow_rows(flows)[0],
        "findings": finding_views.case_list(board, [case])[0],
        "finding": finding_views.finding(board, case.id) or {},
        "hosts": finding_views.hosts(board)[0],
        "search": search(board, "server1")[0],
        "exporters": exporter_example(),
        "lost": lost([case], "host", START, START + 2000 * MS)[0],
        "arranged": arrange_rows(found, START + 1000 * MS, CellRange(START, START + 2000 * MS), topology=board.topology),
        **incident_examples(),
        "history": {
            "job": "job-1",
            "known": True,
            "step_s": 1.03,
            "runs": [{"job": "job-0", "start_ns": str(START - 9_000 * MS), "end_ns": str(START - 5_000 * MS), "step_s": 1.0}],
            "changed": [{"name": "step", "now": 1.03, "before": 1.0, "ratio": 1.03, "needed": 0.02, "worse": True}],
            "drift": None,
        },
        "shares": shares(found, CellRange(START, START + 1000 * MS), bins=2, topology=board.topology),
        "ettr": effective(board, [case], START, START + 3000 * MS)[0],
        "annotations": annotated([case], START, START + MS, topology=board.topology)[0],
        "deviations": deviations(found, START, START + 2000 * MS, topology=board.topology)[0],
        **rate_examples(),
        "onestep": one_step(
            flows,
            found,
            replace(case.finding, ids=(found.job.endpoints[0],)),
            Step(0, START, START + 1000 * MS),
            board.topology,
        )
        or {},
        "compare": {"a": board_views.jobs(board)[0], "b": board_views.jobs(board)[0]} | compared(found, found),
        "replay": replay
        | {"start_ns": None, "end_ns": None, "logs": 0, "finding": None, "incident": False}
        | {"files": ["leaf0.pcap.gz"], "octets": 749000, "board": "?replay=0123456789abcdef"},
        "health": {
            "ok": True,
            "mode": "live",
            "board": {"revision": 1, "age_s": 1.5},
            "parts": {"store": {"ok": True, "rows": 9312}},
            "counters": [counter],
        },
        "store": {"tables": [asdict(Status("flows", 1, 9312, 171_767, START, START + MS, 604_800, 1)) | STORED]},
        "index": {
            "name": "Prism",
            "version": "1",
            "links": {"jobs": "/api/v1/jobs", "findings": "/api/v1/findings"},
            "openapi": "/openapi.json",
            "docs": "/docs",
            "metrics": "/metrics",
            "perfetto": None,
        },
        **feedback_examples(),
        "session": {"needed": True, "scope": "read"},
    }


def exporter_example() -> Json:
    """Make an example of an exporter that samples."""
    columns = {"start_ns": [START], "end_ns": [START + MS], "octets": [1500], "sampling_rate": [4096]}
    sent = survey(Flows.build(columns | {"src": [0], "dst": [0]}, endpoints=("10.10.0.1",), exporters=("leaf0",)))
    port = Port(49, 800_000_000_000, True, START, START + MS, 0, 0, 0, 0, 312.5, 298.0)
    return exporter("leaf0", sent["leaf0"], [port], None, 0)


def incident_examples() -> dict[str, Json]:
    """Make examples of an incident."""
    brief = {"id": "0123456789abcdef", "finding": "323230027bb9", "failed": True, "job": "job-1", "node": "server1"}
    brief |= {"cause": "hardware", "confidence": 0.97}
    line = {"source": "rank1.log", "first": 812, "text": "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."}
    whole = {
        "board": "?replay=0123456789abcdef",
        "endpoints": ["10.10.1.1"],
        "why": "a GPU has fallen off the bus",
        "witnesses_agree": True,
        "witnesses": ["flows: 10.10.1.1, rank 1 sent its last payload 812 ms before any other (97%)"],
        "ranks_assumed": False,
        "last_payload": [{"endpoint": "10.10.1.1", "time_ns": str(START)}],
        "unanswered": [],
        "checks": [{"what": "step time", "logs": "1.03 s", "flows": "1.03 s", "agrees": True}],
        "findings": [{"kind": "hang", "ids": ["10.10.1.1"], "message": "sends nothing, and all others wait for it"}],
        "logs": {"stage": "training", "iteration": 811, "lines": [line]},
    }
    return {"incidents": brief, "incident": brief | whole}


def rate_examples() -> dict[str, Json]:
    """Make examples of rates."""
    speeds = {"speed_gbit_s": 400.0, "learnt": True, "mean_utilisation": 0.1, "peak_utilisation": 0.175}
    rate = {"id": "10.10.0.1", "way": "out", "gbit_s": [12.5, 70.0], "mean_gbit_s": 41.25, "peak_gbit_s": 70.0, **speeds}
    times = {"start_ns": str(START), "end_ns": str(START + 2000 * MS), "bin_ms": 1000.0}
    sending = {"usual": 190.0, "now": 48.0, "peers": 188.0}
    series = {"culprit": [41.0, 12.0], "peers": [40.0, 39.5], "peers_number": 7, "sending": sending}
    edge = {"pair": "10.10.0.1>10.10.2.1", "octets": 4 << 20, "usual": 190.0, "now": 48.0}
    begun = {
        "by": "endpoint",
        "ids": ["10.10.0.1"],
        "start_ns": str(START),
        "bin_ms": 1000.0,
        "begin_ns": str(START + 1000 * MS),
    }
    return {
        "rates": {"by": "endpoint", **times, "truncated": False, "items": [rate]},
        "beside": {**begun, **series, "edges": [edge]},
    }


def feedback_examples() -> dict[str, Json]:
    """Make examples of remarks, silences and actions on the finding of the board."""
    at, case = {"at_ns": str(START)}, "323230027bb9"
    mark = Remark("0123456789abcdef", case, "right", START, "ada", "replaced the fan")
    known = {"finding": finding_views.finding(_board(), _board().cases[0].id) or {}}
    label = labelled_findings([replace(mark, known=known["finding"])])[0]
    trail = [{"state": "proposed", **at, "by": "ada", "text": ""}, {"state": "done", **at, "by": "hook", "text": "HTTP 200"}]
    times = {"start_ns": str(START), "end_ns": str(START + 2 * 3600 * 1000 * MS)}
    sent = {"made_ns": str(START), "next_ns": None, "done_ns": str(START + MS), "error": ""}
    matches = [{"finding": case, "summary": "Slow rank 10.10.1.1 (server1): job job-1 is 1.42× slower"}]
    action = {"id": "act_0123456789abcdef", "hook": "drain", "finding": case, "targets": ["server1"], "dry_run": True}
    return {
        "remarks": remark_json(mark) | {"finding": case},
        "labels": label,
        "notifications": {"id": "prism_01", "receiver": "oncall", "state": "sent", "summary": matches[0]["summary"]}
        | {"reason": "new group: 1", "findings": [case], "tries": 1, **sent},
        "silences": {
            "id": "0a1b2c3d",
            "state": "active",
            "matchers": ['host="server1"'],
            **times,
            "by": "ada",
            "why": "new fan",
        }
        | {"matches": matches},
        "hooks": {"name": "drain", "title": "Drain the host", "dry_run": True, "findings": [case]},
        "actions": action | {"state": "done", "trail": trail},
    }


def _board() -> Board:
    """Make a board of two pipelines with two stages, of which one rank is slow."""
    ends = START + MS * np.array([[0, 1000], [1000, 2000]], np.int64)
    names = tuple(f"10.10.{rank}.1" for rank in range(4))
    places = {name: Endpoint(f"server{rank}", 0, f"leaf{rank // 2}") for rank, name in enumerate(names)}
    rank = np.arange(4, dtype=np.int32)
    at, dp = np.full(4, START, np.int64), np.full(4, PHASES.index("dp"), np.int8)
    spans = Spans(at + 600 * MS, at + 900 * MS, rank, dp, ((rank + 2) % 4).astype(np.int32))
    phases = Phases(
        np.repeat(at, 2) + MS * np.tile([0, 600], 4),
        np.repeat(at, 2) + MS * np.tile([600, 1000], 4),
        np.repeat(rank, 2),
        np.zeros(8, np.int32),
        np.tile([PHASES.index("compute"), PHASES.index("dp")], 4).astype(np.int8),
    )
    found = JobDiagnosis(
        Job("job-1", names, tuple(f"server{r}" for r in range(4)), START, START + 2000 * MS),
        Parallelism(
            Layout(dp=2, pp=2, confidence=0.98),
            (Group("dp", names[::2], "traffic", 0.99), Group("pp", names[:2], "traffic", 0.97)),
            (Pair(names[0], names[2], "dp", 4 << 20),),
            {name: rank % 2 for rank, name in enumerate(names)},
            alternatives=(Alternative(Layout(dp=4, confidence=0.02), "one kind of traffic may be PP or DP"),),
        ),
        Timeline((ends,) * 4, (Event("checkpoint", START + 1200 * MS, START + 1300 * MS),), spans, phases),
    )
    finding = Finding(
        *("slow_rank", "slow_rank", "job-1", Severity.CRITICAL, "endpoint", (names[1],)),
        start_ns=START,
        end_ns=START + 2000 * MS,
        slowdown=1.42,
        score=9.1,
        message=f"{names[1]} computes 1.7 × longer than the other ranks of its stage, and its peers wait for it",
        evidence={"compute_ms": 61.2},
        confidence=0.97,
        lost_gpu_s=312.4,
        isolate=Isolation(("server1",), (), 0.93, ((("server1",), 0.93), (("server0",), 0.07))),
    )
    source = Source(("leaf0.pcap.gz",), 171_767, 9_312, {"not IP": 12}, START, START + 2000 * MS)
    topology = Topology(places, (("leaf0", "spine0"), ("leaf1", "spine0")))
    booking = Booking("4711", "llama-70b", "ada", "gpu", tuple(f"server{r}" for r in range(4)), start_ns=START, source="slurm")
    board = board_of(Diagnosis(source, (found,), (finding,)), topology, (booking,))
    return replace(board, gaps=(Gap(START - 9000 * MS, START - 4000 * MS, "restart"),))
