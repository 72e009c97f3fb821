"""Routes that read a board: counts, jobs, windows, switches, hosts, flow records."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Query, Request, Response

from prism.api.requests.moments import LAST
from prism.api.requests.problem_details import not_found
from prism.api.requests.request_parameters import (
    BoardParameter,
    CursorParameter,
    LimitQuery,
    RangeParameter,
    RanksQuery,
    ServiceParameter,
    TimeQuery,
    encode_cursor,
    parse_rank_range,
)
from prism.api.requests.responses import JSON, RequestedBoard, answer, answer_list, choose_form
from prism.api.schemas import finding_schemas, job_schemas, service_schemas
from prism.api.schemas.openapi import error_responses, item_responses, list_responses
from prism.model import Diagnosis, PairKind
from prism.report.chrome_trace import dumps
from prism.tracking.board import JobStatus
from prism.views import board_views, step_cells, timeline_views, traffic_views
from prism.views.rank_deviation import deviations as ranked

router = APIRouter()
IdPath = Annotated[str, Path(max_length=200, description="The job's id.", examples=["job-1"])]


@router.get("/board", response_model=job_schemas.Board, responses=item_responses("board", 404))
def board(request: Request, shown: BoardParameter) -> Response:
    """Summarise the board in counts."""
    return answer(request, shown, lambda: board_views.board(shown.board, shown.mode, shown.age_s), tagged=shown.age_s is None)


@router.get("/jobs", response_model=job_schemas.Listed[job_schemas.JobSummary], responses=list_responses("jobs", 404))
def jobs(request: Request, shown: BoardParameter, after: CursorParameter, limit: LimitQuery = 100) -> Response:
    """List all jobs in brief, in order of start."""

    def make() -> tuple[list[board_views.Json], str | None]:
        ranked = sorted(shown.board.jobs, key=board_views.job_key)
        some, key = board_views.select_page(ranked, board_views.job_key, after=after, limit=limit)
        return board_views.jobs(shown.board, some), encode_cursor(key)

    return answer_list(request, shown, make)


@router.get("/jobs/{id}", response_model=job_schemas.Job, responses=item_responses("job", 404))
def job(request: Request, shown: BoardParameter, id: IdPath, ranks: RanksQuery = None) -> Response:  # noqa: A002
    """Return a job with its groups, ranks and events."""
    job_of(shown, id)
    return answer(request, shown, lambda: board_views.job(shown.board, id, ranks=parse_rank_range(ranks)))


@router.get("/jobs/{id}/steps", response_model=job_schemas.Steps, responses=item_responses("steps", 404))
def steps(
    request: Request,
    shown: BoardParameter,
    stretch: RangeParameter,
    id: IdPath,  # noqa: A002
    measure: Annotated[str, Query(pattern=f"^({'|'.join(step_cells.MEASURES)})$")] = "duration",
    max_cells: Annotated[int, Query(ge=1, le=200_000)] = timeline_views.MAX_CELLS,
    finding: Annotated[str | None, Query(max_length=64, description="Usual times are those before this finding.")] = None,
) -> Response:
    """Return the duration of every step of every rank, and the usual duration.

    `usual` is from before the named finding, else before the first open claim, else before the newest closed one. It is kept
    from the time when the finding opened, so the fault does not move it.
    """
    found = job_of(shown, id).found
    cases = [one for one in shown.board.cases if one.finding.job == id]
    if finding is not None and finding not in {one.id for one in cases}:
        raise HTTPException(404, f"job {id!r} has no finding {finding!r}")

    def make() -> board_views.Json:
        return timeline_views.steps(found, stretch, max_cells=max_cells, measure=measure, cases=cases, finding=finding)

    return answer(request, shown, make)


@router.get("/jobs/{id}/timeline", response_model=job_schemas.Timeline, responses=item_responses("timeline", 404))
def timeline(
    request: Request,
    shown: BoardParameter,
    stretch: RangeParameter,
    id: IdPath,  # noqa: A002
    level: timeline_views.Level | None = None,
    max_spans: Annotated[int, Query(ge=1, le=100_000)] = timeline_views.MAX_SPANS,
) -> Response:
    """Return the timeline of every rank."""
    found = job_of(shown, id).found
    topology = shown.board.topology

    def make() -> board_views.Json:
        return timeline_views.timeline(found, stretch, topology=topology, max_spans=max_spans, level=level)

    return answer(request, shown, make)


@router.get("/jobs/{id}/graph", response_model=job_schemas.Graph, responses=item_responses("graph", 404))
def graph(
    request: Request,
    shown: BoardParameter,
    id: IdPath,  # noqa: A002
    by: traffic_views.By = "endpoint",
    kind: PairKind | None = None,
) -> Response:
    """Return the traffic graph of a job."""
    found = job_of(shown, id).found
    return answer(request, shown, lambda: traffic_views.graph(found, shown.board.topology, by=by, kind=kind))


@router.get(
    "/jobs/{id}/deviations",
    response_model=job_schemas.Listed[job_schemas.Deviation],
    responses=list_responses("deviations", 404, 409),
)
def deviations(
    request: Request,
    shown: BoardParameter,
    id: IdPath,  # noqa: A002
    measure: Annotated[str, Query(pattern=f"^({'|'.join(step_cells.MEASURES)})$")] = "work",
    start_ns: TimeQuery = None,
    end_ns: TimeQuery = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 20,
) -> Response:
    """List ranks by their increase over the time before `start_ns` and over the other ranks of their stage."""
    found, topology = job_of(shown, id).found, shown.board.topology
    start, end = start_ns if start_ns is not None else found.job.start_ns, LAST if end_ns is None else end_ns
    given: dict[str, Any] = {"measure": measure, "topology": topology, "limit": limit}
    return answer_list(request, shown, lambda: (ranked(found, start, end, **given), None))


@router.get("/jobs/{id}/trace", response_class=Response, responses=error_responses(404, 413))
def trace(shown: BoardParameter, service: ServiceParameter, id: IdPath) -> Response:  # noqa: A002
    """Export a job as a Chrome trace for Perfetto: tracks by rank, host and GPU, findings as markers."""
    found = job_of(shown, id).found
    many = len(found.timeline.phases) + len(found.timeline.spans)
    if many > service.limits.traced:
        raise HTTPException(413, f"{many:,} intervals are more than {service.limits.traced:,}; use prism diagnose --trace FILE")
    claims = tuple(case.finding for case in shown.board.cases if case.finding.job == id)
    text = dumps(Diagnosis(shown.board.source, (found,), claims), shown.board.topology)
    name = "".join(c for c in id if c.isalnum() or c in "-_")[:60]
    headers = {"Content-Disposition": f'attachment; filename="job-{name}.json"', "Cache-Control": "no-store"}
    return Response(text, media_type=JSON, headers=headers)


def job_of(shown: RequestedBoard, id_: str) -> JobStatus:
    """Find a job by id. Raises HTTPException 404 with the known ids."""
    found = board_views.job_of(shown.board, id_)
    if found is None:
        raise not_found("job", id_, [job.id for job in shown.board.jobs], "/api/v1/jobs")
    return found


@router.get("/windows", response_model=job_schemas.Listed[service_schemas.Window], responses=list_responses("windows", 404))
def windows(request: Request, shown: BoardParameter) -> Response:
    """List the analysed windows."""
    return answer_list(request, shown, lambda: (board_views.windows(shown.board), None))


@router.get("/gaps", response_model=job_schemas.Listed[job_schemas.Gap], responses=list_responses("gaps", 404))
def gaps(request: Request, shown: BoardParameter) -> Response:
    """List the times in which Prism itself collected nothing, for example a restart. Jobs are unknown in these times."""
    return answer_list(request, shown, lambda: (board_views.gaps(shown.board), None))


@router.get("/switches", response_model=finding_schemas.Switches, responses=item_responses("switches", 404))
def switches(
    request: Request, shown: BoardParameter, service: ServiceParameter, start_ns: TimeQuery = None, end_ns: TimeQuery = None
) -> Response:
    """List switches and links; as CSV or Parquet the switches alone."""

    def make() -> board_views.Json:
        return _switches(shown, (start_ns, end_ns), service.limits.looked_at)

    if choose_form(request) == JSON:
        return answer(request, shown, make, tagged=shown.mode == "replay")
    return answer_list(request, shown, lambda: (make()["items"], None), tagged=shown.mode == "replay")


@router.get("/links", response_model=job_schemas.Listed[finding_schemas.Link], responses=list_responses("links", 404))
def links(
    request: Request, shown: BoardParameter, service: ServiceParameter, start_ns: TimeQuery = None, end_ns: TimeQuery = None
) -> Response:
    """List links between switches, one entry per direction."""
    most = service.limits.looked_at
    tagged = shown.mode == "replay"
    return answer_list(request, shown, lambda: (_switches(shown, (start_ns, end_ns), most)["links"], None), tagged=tagged)


def _switches(shown: RequestedBoard, times: tuple[int | None, int | None], max_records: int) -> board_views.Json:
    """Summarise switches from the first `max_records` records of a time range; by default of the newest window."""
    newest = shown.board.windows[0] if shown.board.windows else None
    start, end = times
    start = start if start is not None else newest.start_ns if newest else 0
    end = end if end is not None else newest.end_ns if newest else 0
    flows = shown.records.between(start, end, limit=max_records) if shown.records else None
    cut = flows is not None and len(flows) >= max_records
    return {"start_ns": board_views.ns(start), "end_ns": board_views.ns(end), "truncated": cut} | traffic_views.switches(
        shown.board, flows
    )


@router.get("/flows", response_model=job_schemas.Listed[service_schemas.Flow], responses=list_responses("flows", 404))
def flows(
    request: Request,
    shown: BoardParameter,
    src: Annotated[str, Query(max_length=64, examples=["10.10.0.1"])],
    dst: Annotated[str, Query(max_length=64, examples=["10.10.1.1"])],
    start_ns: TimeQuery = None,
    end_ns: TimeQuery = None,
    limit: LimitQuery = 100,
) -> Response:
    """List the flow records from one address to another, by start."""
    if shown.records is None:
        raise HTTPException(404, "flow records: this service keeps none; start it with --data or a store to keep them")
    records, end = shown.records, LAST if end_ns is None else end_ns

    def make() -> tuple[list[board_views.Json], None]:
        return traffic_views.pair_rows(records, (src, dst), (start_ns or 0, end), limit), None

    return answer_list(request, shown, make, tagged=shown.mode == "replay")
