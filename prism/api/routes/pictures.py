"""Routes of large pictures of a job: ranks by deviation, phases of groups of ranks."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Request, Response

from prism.api.requests.request_parameters import BoardParameter, RangeParameter
from prism.api.requests.responses import answer
from prism.api.routes.boards import IdPath, job_of
from prism.api.schemas import picture_schemas
from prism.api.schemas.openapi import item_responses
from prism.views import board_views, finding_views, step_cells
from prism.views.deviation_rows import arrange_rows
from prism.views.phase_shares import BINS, MAX_SINGLES, shares

router = APIRouter()
RanksListed = Annotated[str, Query(pattern=r"^(\d{1,9}(,\d{1,9}){0,47})?$", description="Ranks joined by commas, at most 48.")]


@router.get("/jobs/{id}/arranged", response_model=picture_schemas.Arranged, responses=item_responses("arranged", 404))
def by_deviation(
    request: Request,
    shown: BoardParameter,
    stretch: RangeParameter,
    id: IdPath,  # noqa: A002
    measure: Annotated[str, Query(pattern=f"^({'|'.join(step_cells.MEASURES)})$")] = "work",
    finding: Annotated[str | None, Query(max_length=64, description="Finding that gives the start and the first rows.")] = None,
) -> Response:
    """Return the increase of every step for the ranks that deviate most, the culprit's group first.

    Without a finding the baseline of a rank is its stage. The `ranks` parameter has no effect here.
    """
    found = job_of(shown, id).found
    case = next((case for case in shown.board.cases if case.id == finding and case.finding.job == id), None)
    if finding is not None and case is None:
        raise HTTPException(404, f"job {id!r} has no finding {finding!r}")
    begin = case.finding.start_ns if case is not None else stretch.start_ns

    def make() -> board_views.Json:
        blamed = finding_views.case_list(shown.board, [case])[0]["ranks"] if case is not None else ()
        given: dict[str, Any] = {"measure": measure, "blamed": blamed, "topology": shown.board.topology}
        return arrange_rows(found, begin, stretch, **given)

    return answer(request, shown, make)


@router.get("/jobs/{id}/shares", response_model=picture_schemas.Shares, responses=item_responses("shares", 404))
def by_group(
    request: Request,
    shown: BoardParameter,
    stretch: RangeParameter,
    id: IdPath,  # noqa: A002
    singles: RanksListed = "",
    alone: Annotated[bool, Query(description="Only these ranks.")] = False,
    bins: Annotated[int, Query(ge=1, le=2000)] = BINS,
) -> Response:
    """Return shares of phases over time: for selected ranks alone, for the others by stage and DP group."""
    found = job_of(shown, id).found
    chosen = [int(rank) for rank in singles.split(",") if rank][:MAX_SINGLES]

    def make() -> board_views.Json:
        return shares(found, stretch, singles=chosen, alone=alone, bins=bins, topology=shown.board.topology)

    return answer(request, shown, make)
