"""Compare two jobs, or one job at two times: which measures of its steps changed, by how much, and on which ranks.

Rates count the job's own traffic per step, and per second of a step. Ranks are compared by endpoint.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from prism.model import PHASES, JobDiagnosis
from prism.views.board_views import Json, finite
from prism.views.step_sums import sums

MOST = 20  # ranks in the result
KINDS = ("dp", "pp", "tp", "ep", "cp", "unknown")


def compared(a: JobDiagnosis, b: JobDiagnosis) -> Json:
    """Compute the changes from `a` to `b`: rows with both values and `ratio` (b / a; None if either is 0 or unknown).

    `rows`: step time, phases of a step (ms, mean over ranks), octets and rates by kind. `ranks`: endpoints with the largest
    changes in work or waiting.
    """
    return {"rows": [*_steps(a, b), *_phases(a, b), *_traffic(a, b)], "ranks": _ranks(a, b)[:MOST], "common": _common(a, b)}


def _row(name: str, group: str, unit: str, a: float | None, b: float | None) -> Json:
    known = a is not None and b is not None and a > 0 and b > 0
    ratio = finite(b / a) if known and a and b else None
    first, second = (None if one is None else finite(one) for one in (a, b))
    return {"name": name, "group": group, "unit": unit, "a": first, "b": second, "ratio": ratio}


def _steps(a: JobDiagnosis, b: JobDiagnosis) -> Iterator[Json]:
    each = [sums(one).distance_ms for one in (a, b)]
    for name, share in (("median", 50), ("p95", 95), ("longest", 100)):
        yield _row(name, "step", "ms", *(float(np.percentile(own, share)) if len(own) else None for own in each))
    yield _row("number", "step", "steps", *(float(max(map(len, one.timeline.steps), default=0)) for one in (a, b)))


def _per_step(found: JobDiagnosis) -> dict[str, float]:
    """Time of a step in each phase, ms, mean over ranks and steps."""
    spent = sums(found).spent.sum(axis=0)
    steps = sum(map(len, found.timeline.steps))
    return {phase: float(time) / steps / 1e6 for phase, time in zip(PHASES, spent, strict=True)} if steps else {}


def _phases(a: JobDiagnosis, b: JobDiagnosis) -> Iterator[Json]:
    first, second = _per_step(a), _per_step(b)
    for phase in PHASES:
        if first.get(phase) or second.get(phase):
            yield _row(phase, "phase", "ms", first.get(phase), second.get(phase))


def _moved(found: JobDiagnosis) -> dict[str, tuple[float, float]]:
    """Octets per step, and Gbit/s over its whole time, by kind."""
    steps = max(map(len, found.timeline.steps), default=0)
    seconds = (found.job.end_ns - found.job.start_ns) / 1e9
    octets: dict[str, int] = {}
    for pair in found.parallelism.pairs:
        octets[pair.kind] = octets.get(pair.kind, 0) + pair.octets
    return {kind: (n / steps, n * 8 / seconds / 1e9) for kind, n in octets.items()} if steps and seconds > 0 else {}


def _traffic(a: JobDiagnosis, b: JobDiagnosis) -> Iterator[Json]:
    first, second = _moved(a), _moved(b)
    for place, group, unit in ((0, "octets per step", "octets"), (1, "bandwidth", "Gbit/s")):
        for kind in KINDS:
            if kind in first or kind in second:
                values = (one[kind][place] if kind in one else None for one in (first, second))
                yield _row(kind, group, unit, *values)


def _ranks(a: JobDiagnosis, b: JobDiagnosis) -> list[Json]:
    """Compare ranks by endpoint, largest change of work or waiting first: ms per step."""
    own = [_by_rank(one) for one in (a, b)]
    rows = []
    for endpoint in own[0].keys() & own[1].keys():
        first, second = own[0][endpoint], own[1][endpoint]
        change = max((abs(second[name] - first[name]) for name in first), default=0.0)
        values: dict[str, Any] = {name: {"a": finite(first[name]), "b": finite(second[name])} for name in first}
        rows.append((change, {"endpoint": endpoint, "change_ms": finite(change), **values}))
    return [row for _, row in sorted(rows, key=lambda row: (-row[0], row[1]["endpoint"]))]


def _by_rank(found: JobDiagnosis) -> dict[str, dict[str, float]]:
    """Work, waiting and communication of each rank per step, ms."""
    spent, out = sums(found).spent / 1e6, {}
    idle = PHASES.index("idle")
    work = [PHASES.index(name) for name in ("compute", "forward", "backward", "optimizer")]
    for rank, endpoint in enumerate(found.job.endpoints):
        steps = len(found.timeline.steps[rank])
        if steps:
            own = spent[rank] / steps
            rest = float(own.sum() - own[work].sum() - own[idle])
            out[endpoint] = {"work_ms": float(own[work].sum()), "wait_ms": float(own[idle]), "communication_ms": rest}
    return out


def _common(a: JobDiagnosis, b: JobDiagnosis) -> Json:
    one, other = set(a.job.endpoints), set(b.job.endpoints)
    layouts = [{kind: getattr(found.parallelism.layout, kind) for kind in ("dp", "pp", "tp", "ep", "cp")} for found in (a, b)]
    counts = {"endpoints": len(one & other), "only_a": len(one - other), "only_b": len(other - one)}
    return {**counts, "same_layout": layouts[0] == layouts[1]}
