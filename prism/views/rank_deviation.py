"""Sort the ranks of a job by deviation: the increase of a measure over the rank's past and over its peers.

Peers are the ranks of its pipeline stage. The deviation is the smaller of the two differences, so that ranks that were always
different and changes of all ranks do not come first. Without a time before, only peers count.
"""

from __future__ import annotations

import numpy as np

from prism.model import JobDiagnosis
from prism.topology import Topology
from prism.views.board_views import NOWHERE, Json, finite, membership
from prism.views.step_cells import CellRange, Floats, cell_values, step_grid

SPARKS = 60  # steps of a row's picture


def deviations(
    job: JobDiagnosis,
    begin_ns: int,
    end_ns: int,
    *,
    measure: str = "work",
    topology: Topology | None = None,
    limit: int = 20,
) -> list[Json]:
    """List the ranks with the largest deviation in [begin_ns, end_ns), ms per step.

    Raises ValueError for an unknown measure.
    """
    many = len(job.job.endpoints)
    before = row_medians(_values(job, CellRange(job.job.start_ns, max(begin_ns, 1)), measure))
    values = _values(job, CellRange(begin_ns, max(end_ns, begin_ns + 1)), measure)
    now = row_medians(values)
    stages = np.array([job.parallelism.stages.get(endpoint, 0) for endpoint in job.job.endpoints])
    peers = np.full(many, np.nan)
    for stage in np.unique(stages):
        own = stages == stage
        peers[own] = np.nanmedian(now[own]) if np.isfinite(now[own]).any() else np.nan
    more = np.fmin(now - before, now - peers) if np.isfinite(before).any() else now - peers
    order = np.argsort(np.where(np.isfinite(more), -more, np.inf), kind="stable")[:limit]
    member, shown = membership(job), _values(job, CellRange(), measure)[:, -SPARKS:]
    rows = []
    for rank in order.tolist():
        endpoint = job.job.endpoints[rank]
        place = (topology.endpoints.get(endpoint) if topology else None) or NOWHERE
        numbers = {"usual_ms": before[rank], "now_ms": now[rank], "peers_ms": peers[rank], "deviation_ms": more[rank]}
        rows.append(
            {
                "rank": rank,
                "endpoint": endpoint,
                "host": place.host,
                "stage": int(stages[rank]) if job.parallelism.stages else None,
                "group": member.get(endpoint, {}).get("dp"),
                **{name: finite(float(value)) for name, value in numbers.items()},
                "values_ms": [finite(one) for one in shown[rank].tolist()],
            }
        )
    return rows


def _values(found: JobDiagnosis, selection: CellRange, measure: str) -> Floats:
    many = len(found.job.endpoints)
    return cell_values(found.timeline, 0, many, step_grid(found.timeline, range(many), selection), measure)


def row_medians(values: Floats) -> Floats:
    """Compute the median of each row; NaN without any."""
    out = np.full(len(values), np.nan)
    if not values.size:
        return out
    known = np.isfinite(values)
    whole, some = known.all(axis=1), known.any(axis=1)
    out[whole] = np.median(values[whole], axis=1)  # much faster than nanmedian
    rest = some & ~whole
    out[rest] = np.nanmedian(values[rest], axis=1)
    return out
