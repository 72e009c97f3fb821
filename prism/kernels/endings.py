"""When the steps of one rank end, from its records and the gaps of the rhythm that it follows. Loops over steps, compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from collectors.compiled import compiled
from collectors.record import Ints, Mask
from prism.kernels.ordered import median


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
def steps_of(
    start: Ints, end: Ints, octets: Ints, of: Ints, own: Mask, leading: Mask, quiet: Ints, heard: Ints
) -> NDArray[np.int64]:
    """Begin and end of each step of one rank, ns, int64[n, 2], from what it sent and was sent, in order of start.

    `of` is the stream of each record; which of these are the rank's `own`, and which of those end its steps (`leading`).
    `quiet` and `heard` are as in `step_ends`.
    """
    begun, some = np.empty(len(start), np.int64), np.empty((3, len(start)), np.int64)
    every = ending = 0
    for i in range(len(start)):
        if own[of[i]]:
            begun[every] = start[i]
            every += 1
        if leading[of[i]]:
            some[0, ending], some[1, ending], some[2, ending] = start[i], end[i], octets[i]
            ending += 1
    ends = step_ends(some[0, :ending], some[1, :ending], some[2, :ending], quiet, begun[:every], heard)
    out = np.empty((len(ends), 2), np.int64)
    for k in range(len(ends)):
        out[k, 0], out[k, 1] = ends[k - 1], ends[k]
    out[0, 0] = min(begun[0] if every else quiet[0, 0], ends[0])
    return out
