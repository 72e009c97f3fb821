"""Routes of Gbit/s and utilisation over time for endpoints, pairs, links and switches; a culprit beside its peers."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request, Response

from collectors.columns.record import Flows
from prism.api.changes.remark_routes import CaseId, case_of
from prism.api.requests.request_parameters import BoardParameter, ServiceParameter, TimeQuery
from prism.api.requests.responses import RequestedBoard, answer
from prism.api.schemas import job_schemas
from prism.api.schemas.openapi import item_responses
from prism.model import Phase
from prism.rates.culprit_rates import beside_peers
from prism.rates.link_speeds import observed_speeds, speed
from prism.rates.rate_series import By, Way, series
from prism.rates.step_rates import one_step, step_of
from prism.views import board_views
from prism.views.board_views import Json, finite, ns

router = APIRouter()
MAX_RANGE_NS = 3600 * 10**9  # maximum time range of records around a finding
SHARE_BEFORE = 0.5  # time before a finding, as a share of its duration
NO_RECORDS = "flow records: this service keeps none; start it with --data or a store to keep them"


class Rate(job_schemas.Model):
    """Rates of an endpoint, pair, link or switch. `speed_gbit_s`: from the topology, or `learnt` from traffic."""

    id: str
    way: Way
    gbit_s: list[job_schemas.Number]
    mean_gbit_s: job_schemas.Number
    peak_gbit_s: job_schemas.Number
    speed_gbit_s: job_schemas.Number
    learnt: bool
    mean_utilisation: job_schemas.Number
    peak_utilisation: job_schemas.Number


class Rates(job_schemas.Model):
    """Rates in bins of `bin_ms` from `start_ns`; `truncated`: only the first records were read."""

    by: By
    start_ns: job_schemas.Ns
    end_ns: job_schemas.Ns
    bin_ms: float
    truncated: bool
    items: list[Rate]


class Sending(job_schemas.Model):
    """Rate of transfers, Gbit/s: of the culprit before and since, of its peers since."""

    usual: job_schemas.Number
    now: job_schemas.Number
    peers: job_schemas.Number


class Edge(job_schemas.Model):
    """A pair of the culprit; both ends as a>b."""

    pair: str
    octets: int
    usual: job_schemas.Number
    now: job_schemas.Number


class Beside(job_schemas.Model):
    """A culprit beside the median of its peers, Gbit/s."""

    by: By
    ids: list[str]
    start_ns: job_schemas.Ns
    bin_ms: float
    begin_ns: job_schemas.Ns
    culprit: list[job_schemas.Number]
    peers: list[job_schemas.Number]
    peers_number: int
    sending: Sending
    edges: list[Edge]


@router.get("/rates", response_model=Rates, responses=item_responses("rates", 404))
def rates(
    request: Request,
    shown: BoardParameter,
    service: ServiceParameter,
    by: By = "endpoint",
    start_ns: TimeQuery = None,
    end_ns: TimeQuery = None,
    bins: Annotated[int, Query(ge=1, le=2000)] = 120,
    id: Annotated[  # noqa: A002
        str | None, Query(max_length=4000, description="Only these, with commas between; a pair or a link is a>b.")
    ] = None,
    job: Annotated[str | None, Query(max_length=200, description="Only between endpoints of this job.")] = None,
    limit: Annotated[int, Query(ge=1, le=500, description="The names that move most.")] = 20,
) -> Response:
    """Return Gbit/s over time; by default of the newest window."""
    flows, start, end, cut = _records(shown, start_ns, end_ns, service.limits.looked_at, job)

    def make() -> Json:
        found = series(flows, shown.board.topology, by, start, end, bins)
        found = found.of(id.split(",")) if id else found.largest(limit)
        known = observed_speeds(flows)
        items = []
        for name, way, own in zip(found.names, found.ways, found.gbit_s, strict=True):
            given = speed(shown.board.topology, name)
            fast = given or known.get(name.split(">")[0] if by == "pair" else name)
            mean, peak = float(own.mean()), float(own.max())
            numbers = {"mean_gbit_s": finite(mean), "peak_gbit_s": finite(peak), "speed_gbit_s": fast}
            shares = {
                "mean_utilisation": finite(mean / fast) if fast else None,
                "peak_utilisation": finite(peak / fast) if fast else None,
            }
            values = [finite(value) for value in own.tolist()]
            items.append({"id": name, "way": way, "gbit_s": values, **numbers, "learnt": bool(fast and not given), **shares})
        times = {"start_ns": ns(start), "end_ns": ns(end), "bin_ms": (end - start) / bins / 1e6}
        return {"by": by, **times, "truncated": cut, "items": items}

    return answer(request, shown, make, tagged=False)


@router.get("/findings/{id}/rates", response_model=Beside, responses=item_responses("beside", 404))
def finding_rates(request: Request, shown: BoardParameter, service: ServiceParameter, id: CaseId) -> Response:  # noqa: A002
    """Compare the rates of a finding's culprit with its peers and with its own usual rate."""
    case = case_of(shown, id)
    status = board_views.job_of(shown.board, case.finding.job)
    if status is None:
        raise HTTPException(404, f"job {case.finding.job} of this finding is no longer known")
    found = case.finding
    length = min(max(found.end_ns - found.start_ns, 10**9), MAX_RANGE_NS)
    begin = max(found.start_ns - round(max(SHARE_BEFORE * length, 10**10)), status.found.job.start_ns)
    flows, start, end, _ = _records(shown, begin, found.start_ns + length, service.limits.looked_at, found.job)
    return answer(
        request, shown, lambda: beside_peers(flows, found, status.found.job, shown.board.topology, start, end), tagged=False
    )


class StepPhase(job_schemas.Model):
    """A phase of a rank in the step; `phase` is an index into `phases`."""

    phase: int
    start_ms: job_schemas.Number
    end_ms: job_schemas.Number


class Transfer(job_schemas.Model):
    """A record sent in the step. `suspect`: it uses the blamed part."""

    start_ms: job_schemas.Number
    end_ms: job_schemas.Number
    to: str
    octets: int
    gbit_s: job_schemas.Number
    suspect: bool


class StepLane(job_schemas.Model):
    """An endpoint in the step: rate (median by octets), sending time, phases and transfers."""

    endpoint: str
    host: str | None
    rank: int
    stage: int | None
    octets: int
    sending_ms: job_schemas.Number
    gbit_s: job_schemas.Number
    phases: list[StepPhase]
    transfers: list[Transfer]


class OneStep(job_schemas.Model):
    """One step of a culprit (first) beside a healthy peer, if the job has one; times in ms since the start of the step."""

    step: int
    start_ns: job_schemas.Ns
    duration_ms: job_schemas.Number
    phases: list[Phase]
    lanes: list[StepLane]


@router.get("/findings/{id}/step", response_model=OneStep, responses=item_responses("onestep", 404))
def finding_step(request: Request, shown: BoardParameter, service: ServiceParameter, id: CaseId) -> Response:  # noqa: A002
    """Compare one step of a finding's culprit with the same step of a healthy peer: transfers, times and rates."""
    case = case_of(shown, id)
    status = board_views.job_of(shown.board, case.finding.job)
    step = step_of(status.found, case.finding) if status is not None else None
    if status is None or step is None:
        raise HTTPException(404, f"no step of job {case.finding.job} is known in the time of this finding")
    flows, _, _, _ = _records(shown, step.start_ns, step.end_ns, service.limits.looked_at, case.finding.job)
    told = one_step(flows, status.found, case.finding, step, shown.board.topology)
    if told is None:
        raise HTTPException(404, "no record of this step uses what the finding blames")
    return answer(request, shown, lambda: told, tagged=False)


def _records(
    shown: RequestedBoard, start: int | None, end: int | None, max_records: int, job: str | None
) -> tuple[Flows, int, int, bool]:
    """Read at most `max_records` of a time range. Raises HTTPException 404 without records, or for an unknown job."""
    if shown.records is None:
        raise HTTPException(404, NO_RECORDS)
    newest = shown.board.windows[0] if shown.board.windows else None
    first = start if start is not None else newest.start_ns if newest else 0
    last = end if end is not None else newest.end_ns if newest else first + 1
    last = max(last, first + 1)
    endpoints: tuple[str, ...] = ()
    if job is not None:
        status = board_views.job_of(shown.board, job)
        if status is None:
            raise HTTPException(404, f"no job has the id {job!r}; GET /api/v1/jobs lists them")
        endpoints = status.found.job.endpoints
    flows = shown.records.between(first, last, endpoints=endpoints, limit=max_records)
    return flows, first, last, len(flows) >= max_records
