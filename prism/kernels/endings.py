"""When the steps of one rank end, from its records and the gaps of the rhythm that it follows. Loops over steps, compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Codes, Ints
from collectors.compilation.compiled import compiled
from prism.kernels.ordered import median

Places = NDArray[np.intp]
Masks = NDArray[np.bool_]  # [groups, streams]
OnEnd = tuple[Ints, Ints]  # rows of numbers on end, and where each begins and the last ends (sums.on_end)
Records = tuple[Places, NDArray[np.int32], Codes, Codes, Codes, Ints]
"""All flows: their rows in order of start, the stream of each (−1 for those of none), and the endpoints at its ends; the rank
of each endpoint, −1 for those of others, and the group of each rank: ranks of one have the same streams, those of −1 none."""


@compiled
def parted(start: Ints, done: Ints, octets: Ints, quiet: Ints) -> Ints:
    """How many of a rank's records were sent when each step ended; they are in order of `start`, and `done` so far at `done`.

    Within a gap of the rhythm, which others may show, what begins after a rest and nearer to the gap's end than to what came
    before may be of the next step: where it is, equal volumes tell.
    """
    until = np.maximum(quiet[:, 1], quiet[:, 0] + 1)
    last, first = np.searchsorted(start, until), np.searchsorted(start, quiet[:, 0], "right")
    moved, size = np.zeros(len(octets) + 1, np.int64), np.empty(len(quiet), np.int64)
    for i in range(len(octets)):
        moved[i + 1] = moved[i] + octets[i]
    for step in range(len(quiet)):
        size[step] = moved[last[step]] - (moved[last[step - 1]] if step else 0)
    usual = median(size)
    for step in range(len(quiet)):
        if first[step] >= last[step]:
            continue
        before, best, off = moved[last[step - 1]] if step else 0, last[step], np.inf
        for i in range(max(first[step], 1), last[step] + 1):
            if i == last[step] or start[i] - done[i - 1] > until[step] - start[i]:
                away = abs(moved[i] - before - usual)
                if away < off:
                    best, off = i, away
        last[step] = best
    return last


@compiled
def _last_heard(since: int, until: int, begun: Ints, heard: Ints) -> int:
    """The last signal before a rank resumes after a time, at the latest at another one; ns, 0 if there was none at all."""
    at = np.searchsorted(begun, since, side="right")
    signals = np.searchsorted(heard, begun[at] if at < len(begun) else until)
    return heard[signals - 1] if signals else 0


@compiled
def step_ends(start: Ints, end: Ints, octets: Ints, quiet: Ints, begun: Ints, heard: Ints) -> Ints:
    """When each step of one rank ended: its last record in the streams that end a step, and the signals after it; ns.

    `start`, `end`, `octets` are the records of those streams, in order of start, `quiet` the gaps after the steps, int64[n, 2],
    `begun` when each of all its records began and `heard` the signals, ascending. Who hears one after most of its steps resumes
    after that: what it sends before is left of the step, such as gradients handed to a stage that is late.
    """
    done = end.copy()
    for i in range(1, len(done)):
        done[i] = max(done[i - 1], done[i])
    last = parted(start, done, octets, quiet)
    ended, told = np.empty(len(quiet), np.int64), np.empty(len(quiet), np.int64)
    for step in range(len(quiet)):
        ended[step] = done[last[step] - 1] if last[step] > 0 else quiet[step, 0]
        told[step] = _last_heard(ended[step], quiet[step, 1], begun, heard)
    out = np.maximum(ended, told)
    often = 2 * np.count_nonzero(told > ended) > len(quiet)
    for step in range(len(quiet)):
        if often and told[step] <= ended[step]:
            after = np.searchsorted(heard, ended[step], side="right")
            if after < len(heard) and heard[after] < quiet[step, 1]:
                out[step] = _last_heard(heard[after], quiet[step, 1], begun, heard)
        if step:
            out[step] = max(out[step - 1], out[step])
    return out


@compiled
def aligned(clock: Ints, own: Ints, apart: float) -> Ints:
    """For each gap of a clock, begin and end, ns, the gap of a rhythm, which has some, that begins nearest; its own where that
    is `apart` or more. The later of equals. int64[n, 2].
    """
    out, ends = clock.copy(), own[:, 0].copy()
    for i in range(len(clock)):
        at = np.searchsorted(ends, clock[i, 0])
        low, high = max(at - 1, 0), min(at, len(ends) - 1)
        near = high if abs(ends[high] - clock[i, 0]) <= abs(ends[low] - clock[i, 0]) else low
        if abs(ends[near] - clock[i, 0]) < apart:
            out[i] = own[near]
    return out


@compiled
def streams_of(streams: OnEnd, n: int) -> NDArray[np.int32]:
    """Of which of some streams each of `n` records is, each of one at most; −1 for those of none."""
    of = np.full(n, -1, np.int32)
    for k in range(len(streams[1]) - 1):
        for row in _part(streams, k):
            of[row] = k
    return of


@compiled
def _by_rank(records: Records, which: Masks, asked: NDArray[np.bool_]) -> tuple[Places, Ints]:
    """The records that each rank `asked` for sends or is sent in those streams that are `which` of its group, in order of
    start, one rank after another, and where each begins.
    """
    rows, of, src, dst, rank, group = records
    begins = np.zeros(len(group) + 1, np.int64)
    owner, place, n = np.empty(2 * len(rows), np.int32), np.empty(2 * len(rows), np.intp), 0
    for row in rows:
        if of[row] < 0:
            continue
        for own in (rank[src[row]], rank[dst[row]]):
            if own >= 0 and asked[own] and group[own] >= 0 and which[group[own], of[row]]:
                owner[n], place[n] = own, row
                begins[own + 1] += 1
                n += 1
    for own in range(len(group)):
        begins[own + 1] += begins[own]
    out, at = np.empty(n, np.intp), begins.copy()
    for i in range(n):
        out[at[owner[i]]] = place[i]
        at[owner[i]] += 1
    return out, begins


@compiled
def _firsts(records: Records, which: Masks) -> Places:
    """The first record that each rank sends or is sent in those streams that are `which` of its group; −1 for those without."""
    rows, of, src, dst, rank, group = records
    first, missing = np.full(len(group), -1, np.intp), np.count_nonzero(group >= 0)
    for row in rows:
        if not missing:
            break
        if of[row] < 0:
            continue
        for own in (rank[src[row]], rank[dst[row]]):
            if own >= 0 and first[own] < 0 and group[own] >= 0 and which[group[own], of[row]]:
                first[own] = row
                missing -= 1
    return first


@compiled
def _part(rows: OnEnd, k: int) -> Ints:
    """One of some rows that are on end."""
    return rows[0][rows[1][k] : rows[1][k + 1]]


@compiled
def steps_of(
    records: Records, columns: tuple[Ints, Ints, Ints], own: Masks, leading: Masks, quiet: OnEnd, heard: OnEnd
) -> OnEnd:
    """Begin and end of each step of each rank, ns, int64[n, 2], one rank after another, and where each begins.

    `columns` are start, end and octets of all flows; `own` which streams are those of a group, and `leading` which of these end
    its steps. `quiet` of each group and what each rank has `heard` are as in `step_ends`, on end, and where each begins.
    """
    group, (start, end, octets) = records[-1], columns
    words_end, hears = heard[1], np.empty(len(group), np.bool_)
    for rank in range(len(group)):
        hears[rank] = words_end[rank + 1] > words_end[rank]
    begun, every = _by_rank(records, own, hears)  # where nothing is heard, nobody asks when a rank resumes
    some, ending = _by_rank(records, leading, np.ones(len(group), np.bool_))
    first = _firsts(records, own)
    steps = np.zeros(len(group) + 1, np.int64)
    for rank in range(len(group)):
        steps[rank + 1] = steps[rank] + (len(_part(quiet, group[rank])) if group[rank] >= 0 else 0)
    out = np.empty((steps[-1], 2), np.int64)
    for rank in range(len(group)):
        if group[rank] < 0:
            continue
        gaps, last = _part(quiet, group[rank]), some[ending[rank] : ending[rank + 1]]
        told, said = out[steps[rank] : steps[rank + 1]], start[begun[every[rank] : every[rank + 1]]]
        told[:, 1] = step_ends(start[last], end[last], octets[last], gaps, said, _part(heard, rank))
        told[1:, 0] = told[:-1, 1]
        told[0, 0] = min(start[first[rank]] if first[rank] >= 0 else gaps[0, 0], told[0, 1])
    return out, steps
