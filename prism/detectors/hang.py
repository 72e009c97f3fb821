"""A rank that fell silent while the others waited for it, and came back."""

from __future__ import annotations

import numpy as np

from prism.detectors.view import View
from prism.model import Finding, Severity


def hang(view: View, *, periods: float = 2.0, share: float = 0.5, near: float = 0.02) -> list[Finding]:
    """Steps that took `periods` longer than usual, most of it in one silence of one rank, or of the ranks of one host.

    Of several silent ranks the one that fell silent first is named, with those that did within `near` periods of it: a peer
    may have had something left to send before it waited, too. Where most ranks paused alike nobody hung: that is a pause of
    the job. Nor did one who was busy with others meanwhile
    (a checkpoint to storage): such traffic ends its silence.
    """
    largest, since = view.silences
    out = []
    for step in np.flatnonzero(view.durations >= (1 + periods) * view.period):
        excess = float(view.durations[step] - view.period)
        silent = np.flatnonzero(np.nan_to_num(largest[:, step]) >= share * excess)
        if not len(silent) or 2 * len(silent) >= len(largest):
            continue
        first = float(np.nanmin(since[silent, step]))
        guilty = silent[since[silent, step] <= first + near * view.period]
        longest = float(np.nanmax(largest[guilty, step]))
        ids = tuple(view.job.endpoints[i] for i in guilty)
        if _before_the_step(view, int(step), ids, first + longest):
            continue
        hosts = {view.topology.host(a) for a in ids} if view.topology is not None else {None}
        if len(ids) > 1 and (len(hosts) != 1 or None in hosts):
            continue
        out.append(_finding(view, int(step), ids, [host for host in hosts if host is not None], longest))
    return out


def _before_the_step(view: View, step: int, ranks: tuple[str, ...], until: float) -> bool:
    """Whether first stages fell silent when all had ended a step: then the job paused, and they speak first in any case."""
    if view.parallelism.layout.pp < 2 or step == 0 or any(view.parallelism.stages.get(rank) != 0 for rank in ranks):
        return False
    begun = view.flows.start_ns[~view.flows.control()]
    since = int(view.ends[step - 1])
    return not bool(((begun > since) & (begun < until - 0.01 * view.period)).any())


def _finding(view: View, step: int, ranks: tuple[str, ...], hosts: list[str], longest: float) -> Finding:
    start, end = view.during(step, step + 1)
    waiting = len(view.job.endpoints) - len(ranks)
    whole = len(ranks) > 1
    ids = tuple(hosts) if whole else ranks
    return Finding(
        detector="hang",
        kind="hang",
        job=view.job.id,
        severity=Severity.CRITICAL,
        subject="host" if whole else "endpoint",
        ids=ids,
        start_ns=start,
        end_ns=end,
        slowdown=round(float(view.durations[step] / view.period), 3),
        score=round(min(longest / view.period * 10, 999.0), 2),
        message=(
            f"{', '.join(ids)} said nothing for {longest / 1e9:.2f} s in step {step} and was the first to speak again; "
            f"the other {waiting} ranks were waiting"
        ),
        evidence={"step": step, "ranks": list(ranks), "silent_ms": round(longest / 1e6, 3), "waiting": waiting},
    )
