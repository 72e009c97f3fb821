"""A job against its own past and against earlier runs of the same job."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from prism.api import schemas
from prism.api.answers import answer
from prism.api.asked import ServiceAsked, ShownAsked
from prism.api.boards import IdPath, job_of
from prism.api.described import one
from prism.metrics.runs import history

router = APIRouter()


class Changed(schemas.Model):
    """A figure that differs by more than `needed` from what it was; `ratio` is now / before."""

    name: str
    now: schemas.Number
    before: schemas.Number
    ratio: schemas.Number
    needed: schemas.Number
    worse: bool


class EarlierRun(schemas.Model):
    """An earlier run of a job with the same ranks, layout and volumes."""

    job: str
    start_ns: schemas.Ns
    end_ns: schemas.Ns
    step_s: schemas.Number


class History(schemas.Model):
    """`runs`: with which it is compared, the newest first. `changed`: figures that differ from them, the worse ones first.

    `drift`: its last third of steps against its first; null where they are alike. `known` is false where it has too few steps.
    """

    job: str
    known: bool
    step_s: schemas.Number = None
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
