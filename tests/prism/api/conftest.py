"""A service on a real socket, which the tests of its parts share."""

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import httpx
import numpy as np
import pytest
from pydantic import TypeAdapter, ValidationError

from benchmarks.boards import board
from collectors.columns.record import Flows
from collectors.operations.metrics import Count
from prism.alerts.alert_settings import Settings
from prism.api.server.web_server import served
from prism.feedback.action_runner import ActionRunner
from prism.feedback.remark_journal import Journal
from prism.model import Severity
from prism.past.uploads import Bounds, Uploads
from prism.service.service_settings import Feedback, Limits, Service
from prism.tracking.board import Boards, Case, Gap
from prism.tracking.flow_sources import Memory

RANKS, STEPS = 24, 12
GENEROUS = Limits(per_second=1e6, burst=10**6)


def shown():
    """A board with a job of 24 ranks, two findings, and records of a pair."""
    made = board(RANKS, STEPS, stages=2)
    finding = made.cases[0].finding
    more = replace(finding, kind="slow_link", severity=Severity.INFO, subject="link", ids=("leaf0", "spine0"), start_ns=1)
    closed = Case("closed", more, "closed", 1, 2, 3)
    return replace(made, cases=(*made.cases, closed), gaps=(Gap(7, 0, "paused"), Gap(2, 5)))


def records(made) -> Memory:
    start = made.source.start_ns
    endpoints = made.jobs[0].found.job.endpoints
    columns = {
        "start_ns": start + 1000 * (1 + np.arange(40)),
        "end_ns": start + 1000 * (2 + np.arange(40)),
        "src": [0, 1] * 20,
        "dst": [1, 0] * 20,
        "octets": [1000] * 40,
        "path": [1] * 40,
        "ecn": [1] * 40,
    }
    return Memory(Flows.build(columns, endpoints=endpoints, exporters=("leaf0",), paths=((), ("leaf0", "spine0"))))


def make_feedback(folder=None, **more) -> Feedback:
    """Remarks and actions in memory; silences in a folder."""
    place = folder or tempfile.mkdtemp()
    return Feedback(Journal(), ActionRunner(more.pop("hooks", ())), Settings(folder=str(place)), str(place), **more)


def make_service(**fields) -> Service:
    made = shown()
    counts = [Count("prism_collect_datagrams", "Datagrams.", {("sflow",): 7.0}, ("kind",))]
    known = {"boards": Boards(made), "records": records(made), "mode": "live", "limits": GENEROUS}
    return Service(**(known | {"counts": lambda: counts, "health": lambda: {"store": {"ok": True}}} | fields))


def fits(text: bytes, kind) -> None:
    """An answer holds what its schema has, of these types, and nothing else."""
    TypeAdapter(kind).validate_json(text, strict=True)
    with pytest.raises(ValidationError):
        TypeAdapter(kind).validate_json(text[:-1] + b',"more":1}', strict=True)


@pytest.fixture(scope="session")
def uploads(tmp_path_factory) -> Iterator[Uploads]:
    with Uploads(tmp_path_factory.mktemp("spool"), Bounds(seconds=900)) as made:
        yield made


@pytest.fixture(scope="session")
def service(uploads, tmp_path_factory) -> Service:
    return make_service(uploads=uploads, feedback=make_feedback(tmp_path_factory.mktemp("feedback")))


@pytest.fixture(scope="session")
def url(service) -> Iterator[str]:
    with served(service) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="session")
def api(url) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url + "/api/v1", timeout=60) as client:
        yield client


@pytest.fixture
def pcaps() -> Path:
    return Path(__file__).parents[3] / "pcaps"
