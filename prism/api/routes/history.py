"""A job against its own past and against earlier runs of the same job."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from prism.api.requests.request_parameters import ServiceAsked, ShownAsked
from prism.api.requests.responses import answer
from prism.api.routes.boards import IdPath, job_of
from prism.api.schemas import job_schemas
from prism.api.schemas.openapi import one
from prism.metrics.earlier_runs import history

router = APIRouter()


class Changed(job_schemas.Model):
    """A figure that differs by more than `needed` from what it was; `ratio` is now / before."""

    name: str
    now: job_schemas.Number
    before: job_schemas.Number
    ratio: job_schemas.Number
    needed: job_schemas.Number
    worse: bool


class EarlierRun(job_schemas.Model):
    """An earlier run of a job with the same ranks, layout and volumes."""

    job: str
    start_ns: job_schemas.Ns
    end_ns: job_schemas.Ns
    step_s: job_schemas.Number


class History(job_schemas.Model):
    """`runs`: with which it is compared, the newest first. `changed`: figures that differ from them, the worse ones first.

    `drift`: its last third of steps against its first; null where they are alike. `known` is false where it has too few steps.
    """

    job: str
    known: bool
    step_s: job_schemas.Number = None
    runs: list[EarlierRun]
    changed: list[Changed]
    drift: Changed | None


@router.get("/jobs/{id}/history", response_model=History, responses=one("history", 404))
def compared_with_earlier(request: Request, shown: ShownAsked, service: ServiceAsked, id: IdPath) -> Response:  # noqa: A002
    """Whether a job is slower than earlier runs of the same fingerprint, and whether its own steps changed.

    A difference of 2 % is told, if it exceeds chance and the runs' own spread.
    """
    found = job_of(shown, id).found
    return answer(request, shown, lambda: history(found, service.runs()), tagged=False)
