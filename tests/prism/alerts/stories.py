"""Boards, cases and settings that the tests of alerts share."""

import ipaddress

import numpy as np

from prism.alerts.alert_labels import alerts
from prism.alerts.alert_settings import Grouping, Receiver, Secret, Selection, Settings
from prism.alerts.notifications import Alert, Notification
from prism.model import NO_PHASES, Finding, Isolation, Job, JobDiagnosis, Layout, Parallelism, Severity, Spans, Timeline
from prism.topology import Endpoint, Topology
from prism.tracking.board import Board, Case, JobStatus

S = 1_000_000_000
NOW = 1_795_214_600 * S
LOOPBACK = (ipaddress.ip_network("127.0.0.1/32"),)
NO_SPANS = Spans(*(np.zeros(0, kind) for kind in (np.int64, np.int64, np.int32, np.int8, np.int32)))
TOPOLOGY = Topology({f"10.0.{i}.1": Endpoint(f"server{i}", 0, f"leaf{i // 4}") for i in range(8)}, (("leaf0", "spine0"),))


def finding(
    kind="slow_rank", ids=("10.0.5.1",), *, job="job1", severity="warning", subject="endpoint", start=NOW - 60 * S, **more
):
    given = {
        "slowdown": 1.26,
        "score": 9.0,
        "message": f"{ids[0]} works longer",
        "confidence": 0.98,
        "lost_gpu_s": 25.0,
        **more,
    }
    isolate = given.pop("isolate", Isolation(("server5",), (), 0.97, ((("server5",), 0.97), (("server4",), 0.02))))
    return Finding(kind, kind, job, Severity(severity), subject, ids, start, start + 50 * S, isolate=isolate, **given)


def case(name="c1", found=None, *, state="open", opened=NOW - 30 * S, closed=0):
    return Case(name, found or finding(), state, opened, closed or opened, closed)


def job(name="job1"):
    found = Job(name, tuple(f"10.0.{i}.1" for i in range(8)), tuple(f"server{i}" for i in range(8)), NOW - 900 * S, NOW)
    return JobStatus(JobDiagnosis(found, Parallelism(Layout(dp=2, pp=4), (), ()), Timeline((), (), NO_SPANS, NO_PHASES)))


def board(*cases, revision=1, at=NOW, topology=TOPOLOGY):
    return Board(revision=revision, at_ns=at, jobs=(job(),), cases=cases, topology=topology)


def alerts_of(*cases, **more) -> list[Alert]:
    return alerts(board(*cases), **more)


def receiver(name="hook", kind="webhook", url="http://127.0.0.1:9/", **more) -> Receiver:
    return Receiver(name, kind, Secret(url), **{"allow": LOOPBACK, **more})


def settings(*receivers, **more) -> Settings:
    more = {"grouping": Grouping(), "telling": Selection(over_s=0), **more}
    return Settings(receivers=receivers, **more)


def notification(*told, name="prism_1", to="hook", **more) -> Notification:
    group = more.pop("group", '{}:{job="job1"}')
    why = more.pop("reason", "new group: 1")
    return Notification(name, to, group, {"job": "job1"}, told or tuple(alerts_of(case())), why, NOW, **more)
