"""Route that compares a job with its own past and with earlier runs of the same job."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from prism.api.requests.request_parameters import BoardParameter, ServiceParameter
from prism.api.requests.responses import answer
from prism.api.routes.boards import IdPath, job_of
from prism.api.schemas import job_schemas
from prism.api.schemas.openapi import item_responses
from prism.metrics.earlier_runs import compare_history

router = APIRouter()


class Changed(job_schemas.Model):
    """A figure that changed by more than the threshold `needed`; `ratio` is now / before."""

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
    """Comparison with earlier runs (`runs`, newest first). `changed`: figures that differ, worse ones first.

    `drift`: last third of the steps against the first; null if alike. `known` is false with too few steps.
    """

    job: str
    known: bool
    step_s: job_schemas.Number = None
    runs: list[EarlierRun]
    changed: list[Changed]
    drift: Changed | None


@router.get("/jobs/{id}/history", response_model=History, responses=item_responses("history", 404))
def compared_with_earlier(request: Request, shown: BoardParameter, service: ServiceParameter, id: IdPath) -> Response:  # noqa: A002
    """Compare a job with earlier runs of the same fingerprint, and its last steps with its first ones.

    A difference is reported from 2 %, if it exceeds chance and the spread of the runs.
    """
    found = job_of(shown, id).found
    return answer(request, shown, lambda: compare_history(found, service.runs()), tagged=False)
