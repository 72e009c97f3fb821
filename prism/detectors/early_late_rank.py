"""Detect a rank that is late again in the current long step, before this step is over.

If a job reduces once per step, a late rank is visible once per step, and a single delay is a hiccup. A second delay is visible
as soon as its peers have started to send and it has not; or, in a ring with lanes inside hosts, as soon as the ring waits.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from prism.detectors import constants as c
from prism.detectors.late_rank import begins_of
from prism.detectors.peers.host_rings import ring_delays
from prism.detectors.straggler import straggler_finding
from prism.findings.message_values import step_range, steps_take
from prism.graph.job_view import Floats, View
from prism.loops.arrays.change_points import RARE, Shift, by_chance, middle, spread
from prism.loops.arrays.edges import sending
from prism.loops.arrays.group_sums import on_end
from prism.loops.arrays.intervals import Ints
from prism.loops.detection.call_lateness import firsts
from prism.model import Finding


def early_late_rank(view: View, *, factor: float = c.LONGER, sigmas: float = c.SIGMAS, share: float = 0.5) -> list[Finding]:
    """Detect the rank that was late by the `share` of the newest step's excess, and is late again by half as much.

    Enabled as `early_slow_rank`. The newest step is longer by `factor` and by `sigmas`. The rank is late by `sigmas` both
    times. No other rank is half as late without waiting for it. From its other delays, or by the rule of succession, two such
    delays in sequence are rare.
    """
    n = len(view.ends)
    if view.least > c.EARLY_STEPS or view.period < c.LONG_STEP or n < c.LEAST_STEPS or view.parallelism.piped:
        return []
    level = np.log(np.maximum(view.durations, 1.0) / view.period)
    height = float(level[-1])
    if not height >= max(np.log(factor), sigmas * spread(level, floor=c.STEP_NOISE)):
        return []
    place = {address: i for i, address in enumerate(view.job.endpoints)}
    groups = (group.members for group in view.parallelism.groups if group.kind == "dp" and len(group.members) > 2)
    for ranks in ([place[member] for member in members] for members in sorted(groups, key=len, reverse=True)):
        seen = _from_sends(view, ranks) or _from_ring_waits(view, ranks)
        if seen is None or seen.row < 0 or seen.late[seen.row, -2] < share * (np.exp(height) - 1):
            continue
        late, row = seen.late, seen.row
        noise = max(spread(late[:, :-2], floor=c.LATENESS_NOISE), spread(late[row, :-2], floor=0.0))
        least = float(late[row, -2:].min())
        one = Shift(n - 1, n + 1, least, float(least / noise * np.sqrt(2)))
        others = int(np.isfinite(late[row, :-2]).sum())
        rare = others <= RARE * (others + 2) ** 2 and by_chance(late, row, one) <= RARE
        if rare and least >= sigmas * noise:
            return [_finding(view, ranks, seen, one.score)]
    return []


class _Seen(NamedTuple):
    """Lateness of some ranks in every step and in the current one, as shares of a step, float64[ranks, steps + 1].

    `row` is the latest rank of the newest two, -1 if these differ. `hidden`: the lateness is inferred from waits of the ring;
    `instead` are other ranks of its host that may be the cause.
    """

    late: Floats
    row: int
    hidden: bool = False
    instead: Sequence[int] = ()


def _from_sends(view: View, ranks: Sequence[int]) -> _Seen | None:
    """Lateness from the first send of each rank, if each sends to one receiver only."""
    to = _receivers(view, ranks)
    late = _lateness(view, ranks) if to else None
    return _Seen(late, _late_twice(late, to)) if late is not None else None


def _from_ring_waits(view: View, ranks: Sequence[int]) -> _Seen | None:
    """Lateness from the waits of the ring of some ranks, with some lanes inside hosts."""
    members = view.flows.among([view.job.endpoints[rank] for rank in ranks])
    sent = [view.sent[view.code[view.job.endpoints[rank]]] for rank in ranks]
    own = [rows[members[view.flows.dst[rows]]] for rows in sent]
    kept = ring_delays(view, ranks, own, sending(view.flows), _begins(view, ranks), now=max(view.now, view.until))
    if kept is None:
        return None
    late = kept.whole.copy()
    late[:, 0] = np.nan  # the records do not contain its begin
    row = _late_twice(late, ())
    host = view.host(view.job.endpoints[ranks[row]])
    mates = [i for i, rank in enumerate(ranks) if ranks[row] in kept.unsure and view.host(view.job.endpoints[rank]) == host]
    return _Seen(late, row, True, mates)


def _begins(view: View, ranks: Sequence[int]) -> Ints:
    """Begin of each step of some ranks, and of the current one, ns."""
    last = max((int(view.timeline.steps[rank][-1, 1]) for rank in ranks if len(view.timeline.steps[rank])), default=0)
    return np.append(begins_of(view, ranks), max(last, int(view.ends[-1])))


def _receivers(view: View, ranks: Sequence[int]) -> list[int]:
    """Receiver of each rank, as a place in `ranks`; empty unless each sends to one receiver only."""
    number = {view.code[view.job.endpoints[rank]]: i for i, rank in enumerate(ranks)}
    heard = [np.unique(view.flows.dst[view.sent[code]]).tolist() for code in number]
    own = [[number[code] for code in codes if code in number] for codes in heard]
    return [codes[0] for codes in own] if all(len(codes) == 1 for codes in own) else []


def _lateness(view: View, ranks: Sequence[int]) -> Floats | None:
    """Compute how much later than the median each rank first sent in every step and in the current one, as shares of a step.

    A rank that has not sent in the current step is late until now. None before most have sent. float64[ranks, steps + 1].
    """
    begins = _begins(view, ranks)
    members = view.flows.among([view.job.endpoints[rank] for rank in ranks])
    sent = [view.sent[view.code[view.job.endpoints[rank]]] for rank in ranks]
    first = firsts(*on_end([sending(view.flows)[rows[members[view.flows.dst[rows]]]] for rows in sent]), begins)
    waits = np.isnan(first[:, -1])
    if 2 * np.count_nonzero(waits) >= len(ranks) or np.isnan(first[:, -2]).any():
        return None
    first[waits, -1] = max(view.now, view.until)
    first[:, 0] = np.nan  # the records do not contain its begin
    return np.asarray((first - middle(first, axis=0)) / view.period)


def _late_twice(late: Floats, to: Sequence[int]) -> int:
    """The latest row of the newest two columns, without rows that wait for it; -1 if the two differ.

    `to` is the receiver of each row: if the receiver must be ready, the sender to a late rank is late as well. Empty: no row
    waits.
    """
    least = float(np.nanmax(late[:, -2])) / 2
    both = [_waited_for(set(np.flatnonzero(late[:, column] >= least).tolist()), to) for column in (-2, -1)]
    return both[0] if least > 0 and both[0] == both[1] else -1


def _waited_for(late: Collection[int], to: Sequence[int]) -> int:
    """The only one of the late rows whose receiver is not late; -1 if there is none, or several."""
    found = [i for i in late if not to or to[i] not in late]
    return found[0] if len(found) == 1 else -1


def _finding(view: View, ranks: Sequence[int], seen: _Seen, score: float) -> Finding:
    n, late, row, lost = len(view.ends), seen.late, seen.row, np.zeros(len(view.job.endpoints))
    lost[ranks] = np.maximum(late[:, -2], 0.0) * view.period
    lost[[rank for i, rank in enumerate(ranks) if i != row and late[i, -2:].min() < late[row, -2] / 2]] = 0.0
    lost[[ranks[i] for i in seen.instead]] = lost[ranks[row]]
    finding = straggler_finding(view, ranks[row], Shift(n - 1, n, float(late[row, -2]), score), lost, score)
    before, now = (late[row, -2:] * view.period / 1e6).tolist()
    first, then = f"starts to send {before:.1f} ms after its peers", f"{now:.1f} ms or more after them"
    if seen.hidden:
        first, then = f"delays its ring by {before:.1f} ms", f"by {now:.1f} ms or more"
    evidence = {
        **finding.evidence,
        "steps": view.numbers(n - 1, n + 1),
        "late_ms": round(before, 3),
        "late_again_ms": round(now, 3),
        "alone": True,
    } | ({"unseen": "lanes between ranks of a host"} if seen.hidden else {})
    took = steps_take(view, n - 1, n, finding.slowdown)
    message = f"{first} in {step_range(view, n - 1, n)} and {then} in the current step; {took}"
    return replace(finding, detector="late_again", message=message, end_ns=max(view.now, view.until), evidence=evidence)
