"""Detect a rank that fell silent in the middle of a step while the others waited for it: a hang, or an unseen crash."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from collectors.columns.record import UDP
from prism.diagnosis.stops import constants as c
from prism.findings.message_values import duration, step_range
from prism.graph.job_view import View
from prism.loops.arrays.connection_lanes import connections, renewals
from prism.loops.arrays.intervals import Union, union
from prism.loops.detection.connection_ends import closings
from prism.loops.detection.overdue_rank import Cut, overdue
from prism.model import Finding, Severity, SubjectType


class Silence(NamedTuple):
    """A silence of the job's payload from `start` to `end`, ns, in step `step`, for which it last started to send at `since`.

    `over`: the job continued. `gone`: it continued on other connections, or never.
    """

    step: int
    since: int
    start: int
    end: int
    over: bool
    gone: bool


def hang(
    view: View,
    *,
    periods: float = 2.0,
    soon_s: float = c.SOON_S,
    beyond: float = c.BEYOND,
    share: float = c.DUE_FIRST,
    examples: int = c.EXAMPLES,
    most: int = c.MOST_SILENCES,
    same: float = c.SAME_PLACE,
    least: int = 2,
    known: int = c.KNOWN_STEPS,
) -> list[Finding]:
    """Detect silences of the whole job within a step, and the rank that was due to send first.

    A silence lasts `periods` step times; if that is longer than `soon_s`, one step time is enough, if it is `beyond` times the
    longest silence within other steps. At most `examples` of the nearest other steps show the due data; in the `share` of them
    it must be the same rank, ranks of one host, or two that wait for each other. Only the `most` longest silences are examined.
    If no rank is clear the finding is information.

    A silence before any rank began the step is a pause; after all data of the step it is the step's end. Silences at the `same`
    position of several steps, or a few of equal length, are a habit: a checkpoint if the due rank writes meanwhile. If all
    connections are new afterwards, the rank crashed. Over RDMA, without visible closes, so did a job silent for four step
    times. A hung rank closes nothing: if members closed connections the job has ended or crashed (`crash`). Nothing
    moves during a hang: if the step lacks octets, or has more, the job continued invisibly. Needs `least` steps of usual
    duration; with the first step, while the silence lasts, `known`.
    """
    calm = np.flatnonzero(view.durations <= c.USUAL_STEP * view.period)
    if len(calm) < least or len(view.edges) < 2:
        return []
    found, places = list[tuple[float, int, Finding]](), list[tuple[float, int]]()
    rows = np.flatnonzero(~view.flows.control())
    spoken = union(view.flows.start_ns[rows], view.flows.end_ns[rows])
    patience = _patience(view, spoken, calm, periods, soon_s * 1e9, beyond)
    silences = [
        s for s in _silences(view, rows, spoken, patience) if s.over or len(calm) + 1 >= known
    ]  # including the first step
    for one in sorted((one for one in silences if not _between(view, one)), key=lambda s: s.start - s.end)[:most]:
        near = calm[calm != one.step]
        near = np.sort(near[np.argsort(np.abs(near - one.step), kind="stable")][:examples])
        cut = _cut(view, one, near)
        guilty = _guilty(view, cut, share)
        if one.gone and any(not set(pair) & set(guilty) for pair in cut.first):
            guilty = []  # if all connections are closed, another rank may only have been about to send
        others = np.setdiff1d(np.arange(len(cut.votes)), guilty)
        begun = cut.moved < c.STEP_ENDED and cut.begun[others].any()
        places += [(cut.moved, one.end - one.start)] if begun else []
        guilty = [] if not one.over and near_step_border(cut.moved) else guilty  # the job may have ended
        named = bool(guilty) or not one.gone
        if named and begun and not _writes(view, one, guilty) and _whole(view, one, near):
            found.append((cut.moved, one.end - one.start, _finding(view, one, guilty, cut)))
    return [f for moved, length, f in found if f.kind == "crash" or not _usual(moved, length, places, same)]


def near_step_border(moved: float) -> bool:
    """Whether a share of a step's octets, 0 … 1, is so near to its begin or end that a pause or the job's end is possible."""
    return min(moved, 1 - moved) < c.STEP_BORDER


def _between(view: View, one: Silence, *, slack: float = c.NOTHING_MOVED) -> bool:
    """Whether a silence separates two steps: no incomplete step continued after it."""
    moved = view.volumes.sum(axis=0)
    if one.step >= len(moved) or any(s[one.step, 1] > one.end for s in _full(view)):
        return False
    return bool(moved[one.step] >= (1 - slack) * np.median(moved))


def _since(view: View, one: Silence) -> np.ndarray:
    """Begin of the silence's step of each rank, ns; int64[ranks]."""
    return np.array([s[one.step - 1, 1] if one.step else s[0, 0] - 1 for s in _full(view)])


def _full(view: View) -> list[np.ndarray]:
    """Steps of each rank; those of the whole job for a rank with fewer steps."""
    return [s if len(s) >= len(view.ends) else _shared(view) for s in view.timeline.steps]


def _usual(
    moved: float,
    length: int,
    places: list[tuple[float, int]],
    same: float,
    *,
    alike: float = c.EQUAL_SILENCES,
    few: int = c.EPISODE,
) -> bool:
    """Whether silences at this position of steps occur twice, or a `few` of this length, this one included."""
    at, lengths = np.array(places).T
    return bool(np.sum(np.abs(at - moved) <= same) > 1 or np.sum(np.abs(np.log(lengths / length)) <= alike) >= few)


def _patience(view: View, spoken: Union, calm: np.ndarray, periods: float, soon_ns: float, beyond: float) -> float:
    """Least duration of a silence, ns: see `hang`. `spoken` are the times with payload."""
    begin, end = spoken
    step = view.step_of(end[:-1])
    middle = np.isin(step, calm) & (step == view.step_of(begin[1:]))
    longest = float((begin[1:] - end[:-1])[middle].max(initial=0))
    return min(periods * view.period, max(soon_ns, view.period, beyond * longest))


def _silences(view: View, rows: np.ndarray, spoken: Union, least: float) -> list[Silence]:
    """List silences of at least `least` ns, including the one after the last payload if other records are later.

    `rows` are the payload, `spoken` the times with payload.
    """
    begin, end = spoken
    after = np.append(begin[1:], max(view.until, int(end[-1])))
    silent = np.flatnonzero(after - end >= least).tolist()
    if not silent:
        return []
    anew = np.isin(after, renewals(view.flows, connections(view.flows, rows)))
    closed = view.flows.start_ns[closings(view.flows)]
    rdma = bool((view.flows.protocol[rows] == UDP).all())
    out = []
    whole = len(view.ends) - _broken(view)
    for i in silent:
        over = i + 1 < len(end)
        step = _step(view, int(end[i])) if over else min(_step(view, int(end[i])), whole)
        if not step:
            continue
        closing = np.searchsorted(closed, [min(end[i] - view.period, view.ends[step - 1]), after[i]])
        if closing[0] < closing[1] and (anew[i] or not over):  # a crash: see `crash`
            continue
        woke = np.flatnonzero(begin[1 : i + 1] - end[:i] >= view.period)
        since = max(int(begin[woke[-1] + 1]) if len(woke) else 0, int(view.ends[step - 1]))
        quits = anew[i] if over else rdma and after[i] - end[i] >= 4 * view.period
        out.append(Silence(step, since, int(end[i]), int(after[i]), over, bool(quits)))
    return out


def _step(view: View, until: int, *, near: float = c.STEP_BORDER) -> int:
    """Step in which a job fell silent: that of the rank that has ended the fewest steps.

    If nothing follows, the previous step may seem over. It is not if the silence begins within the share `near` of a step after
    it, and it lacks more octets than any two other steps differ by.
    """
    step = min(int(np.searchsorted(s[:, 1], until)) for s in view.timeline.steps if len(s) >= len(view.ends))
    if not step or until - int(view.ends[step - 1]) > near * view.period:
        return step
    moved, calm = view.volumes.sum(axis=0), view.durations <= c.USUAL_STEP * view.period
    calm[step - 1] = False
    starts = view.flows.start_ns
    rest = view.flows.octets[(starts > view.ends[step - 1]) & (starts <= until)].sum()
    return step - bool(calm.any() and moved[step - 1] + rest < moved[calm].min() - np.ptp(moved[calm]))


def _broken(view: View, *, part: float = c.INCOMPLETE) -> bool:
    """Whether the last step is incomplete: a rank that falls silent within a step seems to have ended it."""
    moved = view.volumes.sum(axis=0)
    return len(moved) > 1 and float(moved[-1]) < part * float(np.median(moved))


def _cut(view: View, one: Silence, near: np.ndarray) -> Cut:
    like = np.stack([s[near] for s in _full(view)])
    return overdue(view.flows, view.by_lane, view.codes, like, _since(view, one), one.start)


def _writes(view: View, one: Silence, guilty: list[int]) -> bool:
    """Whether a silent rank sends bulk data out of the job meanwhile."""
    around = view.around
    codes = np.array([view.code[view.job.endpoints[r]] for r in guilty])
    members = around.among(view.job.endpoints)
    away = np.isin(around.src, codes) & ~members[around.dst] & view.work_relevant
    middle = (around.start_ns + around.end_ns) // 2
    return bool((away & (middle > one.start) & (middle < one.end)).any())


def _whole(view: View, one: Silence, near: np.ndarray, *, off: float = c.SAME_VOLUME) -> bool:
    """Whether the silence's step moved as much as other steps when it ended, if the job continued in it."""
    if not one.over or one.gone:
        return True
    if one.step >= len(view.ends):
        return False
    moved = view.volumes.sum(axis=0)
    usual = float(np.median(moved[near]))
    return abs(float(moved[one.step]) - usual) <= max(off * usual, 2 * float(np.ptp(moved[near])))


def _shared(view: View) -> np.ndarray:
    """Steps of the whole job, for a rank with fewer steps."""
    return np.stack([view.begins, view.ends], axis=1)


def _guilty(view: View, cut: Cut, share: float) -> list[int]:
    """Find the ranks that were due first in most of the other steps: one rank, the ranks of one host, or two; empty if unclear.

    For one rank more than half of the steps are enough if no other rank was due in any.
    """
    best = int(np.argmax(cut.votes))
    alone = np.count_nonzero(cut.votes) == 1 and cut.votes[best] > 0.5
    mates = _mates(view, best)
    if cut.often >= share and best in cut.between and any(_mute(view, r) for r in cut.between):
        return _shared_by_all(view, cut) or list(cut.between)
    partners = {member for members in view.parallelism.unseen for member in members}
    if (alone or cut.likely[best] >= share) and (len(mates) < 2 or view.job.endpoints[best] not in partners):
        return [best]
    if (alone or float(cut.likely[mates].sum()) >= share) and len(mates) > 1:
        return mates
    return list(cut.between) if cut.often >= share and _exchange(view, *cut.between) else _shared_by_all(view, cut)


def _shared_by_all(view: View, cut: Cut) -> list[int]:
    """Ranks of the one host at an end of all data that may have been due first, if there are several; else empty.

    In a ring with lanes inside hosts, data to a host with a rank that is not ready waits, and so does data from it, in any
    order. If hosts have one rank each and senders do not wait for receivers, two hung ranks look the same; over RDMA senders
    wait.
    """
    own = [{frozenset(_mates(view, rank)) for rank in pair} for pair in cut.first]
    shared = set.intersection(*own) if len(own) > 1 else set()
    return sorted(*shared) if len(shared) == 1 and (view.one_sided or all(len(mates) > 1 for mates in shared)) else []


def _mute(view: View, rank: int) -> bool:
    """Whether a rank sends nothing visible: it only forwards inside its host, so that it is never due."""
    code = view.code[view.job.endpoints[rank]]
    return not any(src == code for src, _ in view.edges)


def _exchange(view: View, a: int, b: int) -> bool:
    """Whether two ranks send to each other: then each waits for the other, and the records do not show which hangs."""
    one, other = (view.code[view.job.endpoints[r]] for r in (a, b))
    return (one, other) in view.edges and (other, one) in view.edges


def _mates(view: View, rank: int) -> list[int]:
    """Ranks on a rank's host, including itself."""
    hosts = [view.topology.host(a) if view.topology is not None else None for a in view.job.endpoints]
    return [r for r in range(len(hosts)) if r == rank or (hosts[rank] is not None and hosts[r] == hosts[rank])]


def _blamed(view: View, guilty: list[int]) -> tuple[SubjectType, tuple[str, ...]]:
    """Subject of some ranks: rank, host or pair; the job if there are none."""
    if not guilty:
        return "job", (view.job.id,)
    ranks = tuple(view.job.endpoints[i] for i in guilty)
    host = view.topology.host(ranks[0]) if view.topology is not None else None
    together = len(np.unique(view.hosts[guilty])) == 1
    ids = (host,) if len(ranks) > 1 and together and host is not None else ranks
    if not together and any(len(_mates(view, r)) > 1 for r in guilty):
        ids = tuple(sorted({view.host(a) for a in ranks}))
    return "endpoint" if len(ranks) == 1 else "host" if together else "link", ids


def _shares(view: View, guilty: list[int], cut: Cut) -> np.ndarray:
    """Probability of each rank (`Cut.likely`); equal for two ranks, or the ranks of a host."""
    if guilty and guilty == _shared_by_all(view, cut):
        whole = 1.0
    elif len(guilty) < 2:
        return cut.likely
    else:
        whole = cut.often if len(np.unique(view.hosts[guilty])) > 1 else float(cut.likely[guilty].sum())
    mine = np.isin(np.arange(len(cut.votes)), guilty)
    return np.where(mine, whole / len(guilty), np.minimum(cut.likely, 1 - whole))


def _finding(view: View, one: Silence, guilty: list[int], cut: Cut) -> Finding:
    ranks = tuple(view.job.endpoints[i] for i in guilty)
    subject, ids = _blamed(view, guilty)
    who = {"endpoint": "this rank", "host": "this host"}.get(subject, "one of these two, which share a connection,")
    who = f"{who} was due to send next" if guilty else "no single rank was clearly due to send next"
    gone, begin = one.gone, one.since
    length = one.end - one.start
    how = "and has not resumed" if not one.over else "and resumed on new connections" if gone else "and resumed"
    shares = _shares(view, guilty, cut)
    votes = float(shares[guilty].sum()) if guilty else 1.0
    return Finding(
        detector="hang",
        kind="crash" if gone else "hang",
        job=view.job.id,
        severity=Severity.CRITICAL if guilty else Severity.INFO,
        subject=subject,
        ids=ids,
        start_ns=one.start if gone else begin,
        end_ns=one.start if gone else one.end,
        slowdown=1.0 if gone else round(float((one.end - begin) / view.period), 3),
        score=round(min(length / view.period * 10 * votes, c.MOST_SCORE), 2),
        message=(
            f"the job sent nothing for {duration(length)} {how}; a step usually takes {duration(view.period)}; "
            f"{min(cut.moved, 1.0):.0%} of {step_range(view, one.step, one.step + 1)} had been transferred, and {who}"
        ),
        evidence={
            "step": view.numbers(one.step, one.step)[0],
            "ranks": list(ranks),
            "silent_ms": round(length / 1e6, 3),
            "waiting": len(view.job.endpoints) - len(ranks),
            "moved": round(cut.moved, 4),
            "due_first": {view.job.endpoints[i]: round(float(shares[i]), 3) for i in np.flatnonzero(shares)},
        },
    )
