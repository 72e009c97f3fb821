"""Route that searches jobs, users, hosts, racks, addresses, switches and findings."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from prism.api.requests.request_parameters import BoardParameter
from prism.api.requests.responses import answer_list
from prism.api.schemas import job_schemas
from prism.api.schemas.openapi import list_responses
from prism.views.search import Kind
from prism.views.search import search as run

router = APIRouter()


class Result(job_schemas.Model):
    """A match. `jobs`, `findings` and `endpoints`: related ones, at most 40 each."""

    type: Kind
    id: str
    title: str
    detail: str
    jobs: list[str]
    findings: list[str]
    endpoints: list[str]


@router.get("/search", response_model=job_schemas.Listed[Result], responses=list_responses("search", 404))
def search(
    request: Request,
    shown: BoardParameter,
    q: Annotated[str, Query(max_length=200, description="A name, or part of one.", examples=["server3"])],
    type: Annotated[Kind | None, Query(description="Only things of this type.")] = None,  # noqa: A002
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
) -> Response:
    """Search by name: exact matches first, then prefixes, then names that contain the text."""
    return answer_list(request, shown, lambda: (run(shown.board, q, kind=type, limit=limit), None))
