"""What every rank did when: step boundaries, events, and spans of traffic.

A step's boundary is where every stream of a job rests between two full volumes (kernels.rhythm): each stream alone leaves a
wide gap, together they leave a narrow one. A rank's step ends with its last communication before that.

Source: LLMPrism (arXiv 2505.00342), timeline reconstruction; equal volumes replace its change points in time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from collectors.columns.record import Codes, Flows
from prism.beats import beat, same_period
from prism.counting import rhythm_of
from prism.kernels.edges import sending
from prism.kernels.endings import aligned, steps_of, streams_of
from prism.kernels.intervals import Ints
from prism.kernels.ordered import in_order
from prism.kernels.pauses import Clock
from prism.kernels.rhythm import NONE, Rhythm
from prism.kernels.signals import signals
from prism.kernels.sums import on_end
from prism.model import PHASES, Job, Parallelism, Spans, Stream, Timeline


def reconstruct(
    flows: Flows,
    job: Job,
    parallelism: Parallelism,
    told: Clock | None = None,
    until: int = 0,
) -> Timeline:
    """The timeline of one job, without its events; `flows` holds its records. Steps are told by the clock `told`, if any.

    Records were collected `until` then, ns, so that a job whose own end before is silent.
    """
    spans, flows, seen = (flows, flows, lambda times: times) if told is None else (flows, told.on(flows), told.back)
    start = sending(flows)
    streams = sorted(parallelism.streams, key=lambda s: -int(flows.octets[s.rows].sum()))
    clock, alone, calls, often = beat(flows, parallelism, streams, seen=seen, until=until)
    if clock is NONE:
        return Timeline(tuple(np.zeros((0, 2), np.int64) for _ in job.endpoints), (), _spans(spans, job, streams))
    heard_by = _heard(flows, parallelism, signals(flows, clock.quiet[:, 0], calls=calls))
    steps = _steps(flows, job, _Beats(flows, streams, clock, start, alone, often), clock, start, heard_by)
    return Timeline(tuple(seen(own) for own in steps), (), _spans(spans, job, streams))


def _heard(flows: Flows, parallelism: Parallelism, heard: Mapping[int, Ints]) -> dict[str, Ints]:
    """The signals that each endpoint hears. Of ranks that wait for one another inside a host, some hear for all of them."""
    out = {flows.endpoints[code]: times for code, times in heard.items()}
    for members in parallelism.unseen:
        known = [out[member] for member in members if member in out]
        if known:
            all_of_them = np.sort(np.concatenate(known))
            out |= {member: all_of_them for member in members if member not in out}
    return out


def _steps(
    flows: Flows, job: Job, beats: _Beats, clock: Rhythm, start: Ints, heard: Mapping[str, Ints]
) -> tuple[NDArray[np.int64], ...]:
    """Begin and end of every step of every rank, int64[n, 2] each."""
    of: dict[str, list[int]] = defaultdict(list)
    for i, stream in enumerate(beats.streams):
        for member in stream.members:
            of[member].append(i)
    known: dict[tuple[int, ...], int] = {}  # a member that says nothing in a window has no streams
    group = [known.setdefault(tuple(of[address]), len(known)) if of[address] else -1 for address in job.endpoints]
    own, leading = (np.zeros((len(known), len(beats.streams)), np.bool_) for _ in range(2))
    rests = [clock.quiet[:0]]
    for choice, k in known.items():
        last, quiet = beats.ended_by(list(choice))
        own[k, list(choice)] = leading[k, last] = True
        rests.append(quiet)
    of_streams = streams_of(on_end([stream.rows for stream in beats.streams]), len(flows))
    records = in_order(start), of_streams, flows.src, flows.dst, _ranks(flows, job), np.array(group, np.int64)
    quiets = np.concatenate(rests), np.cumsum([len(quiet) for quiet in rests])
    words = on_end([heard.get(address, start[:0]) for address in job.endpoints])
    told, begins = steps_of(records, (start, flows.end_ns, flows.octets), own, leading, quiets, words)
    steps = [told[low:high] for low, high in pairwise(begins.tolist())]
    return tuple(_together(steps, [heard.get(address) for address in job.endpoints], clock.period_ns))


def _together(
    steps: Sequence[NDArray[np.int64]], heard: Sequence[Ints | None], period: float, *, near: float = 0.02
) -> list[NDArray[np.int64]]:
    """Steps of ranks, ended by what they `heard` where most ranks' steps were: no further than `near` periods from those ends.

    What a slow rank took late from one that had reduced its gradients already comes between those and what all hear.
    """
    n = max(map(len, steps), default=0)
    said = {i: own for i, own in enumerate(heard) if own is not None and len(own) and len(steps[i]) == n}
    if not n or 2 * len(said) <= len(steps):
        return list(steps)
    ends = np.stack([steps[i][:, 1] for i in said])
    by_word = np.stack([np.isin(own, words) for words, own in zip(said.values(), ends, strict=True)])
    first = ends.min()  # a float64 holds no ns since the epoch
    usual = np.array(
        [
            np.median(own[told]) if 2 * told.sum() > len(said) else -np.inf
            for own, told in zip((ends - first).T, by_word.T, strict=True)
        ]
    )
    out = list(steps)
    for (i, words), own, told in zip(said.items(), ends, by_word, strict=True):
        at = words[np.maximum(np.searchsorted(words - first, usual + near * period, "right") - 1, 0)]
        late = ~told & (at > own) & (np.abs(at - first - usual) <= near * period)
        if late.any():
            now = np.where(late, at, own)
            out[i] = np.stack([np.concatenate([steps[i][:1, 0], now[:-1]]), now], axis=1)
    return out


class _Beats:
    """Where the streams of a rank agree that a step ends, for each set of streams looked at once."""

    def __init__(self, flows: Flows, streams: list[Stream], clock: Rhythm, start: Ints, alone: bool, often: int) -> None:
        self.flows, self.streams, self.clock, self.start = flows, streams, clock, start
        self.alone = alone  # no other stream shows the steps as the clock does
        self.often = often  # as of `Beat`
        self.known: dict[tuple[int, ...], Rhythm] = {}

    def ended_by(self, own: list[int]) -> tuple[list[int], Ints]:
        """Those of a rank's `own` streams that end its steps, and the gap after each step, int64[n, 2].

        Gradients are reduced last: all of a rank's reductions together where they stand together in the step, else
        the one that rests longest. Ranks that reduce nothing follow whatever rests longest.
        """
        if self.alone:  # other edges may go on a little sooner than the clock's
            quiet = self.clock.quiet
            return own, np.stack([quiet[:, 0], quiet[:, 0] + (quiet[:, 1] - quiet[:, 0]) // 2], axis=1)
        reductions = [i for i in own if self.streams[i].kind == "dp"]
        choices = [(i,) for i in reductions or own] + ([tuple(reductions)] if len(reductions) > 1 else [])
        fit = [(self._rhythm(choice), choice) for choice in choices]
        fit = [(r, choice) for r, choice in fit if same_period(r.period_ns, self.clock.period_ns)]
        if not fit:
            return own, self.clock.quiet
        best, choice = max(fit, key=lambda f: f[0].rest * (2 if len(f[1]) > 1 else 1))
        return list(choice), aligned(self.clock.quiet, best.quiet, self.clock.period_ns / 2)

    def _rhythm(self, choice: tuple[int, ...]) -> Rhythm:
        if choice not in self.known:
            rows = np.concatenate([self.streams[i].rows for i in choice])
            reduces = all(self.streams[i].kind == "dp" for i in choice)
            self.known[choice] = rhythm_of(self.flows, self.start, rows, 0.02, reduces, self.often)
        return self.known[choice]


def _spans(flows: Flows, job: Job, streams: list[Stream]) -> Spans:
    """One span per record and end of it, with the phase its stream stands for."""
    start, rank = sending(flows), _ranks(flows, job)
    parts = [(s.rows, PHASES.index(s.kind)) for s in streams]
    rows = np.concatenate([r for r, _ in parts]) if parts else np.zeros(0, np.intp)
    phase = np.concatenate([np.full(len(r), p, np.int8) for r, p in parts]) if parts else np.zeros(0, np.int8)
    src, dst = rank.take(flows.src.take(rows)), rank.take(flows.dst.take(rows))
    octets = flows.octets.take(rows)
    return Spans(
        np.tile(start.take(rows), 2),
        np.tile(flows.end_ns.take(rows), 2),
        np.concatenate([src, dst]),
        np.tile(phase, 2),
        np.concatenate([dst, src]),
        np.concatenate([octets, -octets]),
    )


def _ranks(flows: Flows, job: Job) -> Codes:
    """The rank of each endpoint, −1 for those of others."""
    code = {address: i for i, address in enumerate(flows.endpoints)}
    rank = np.full(len(flows.endpoints), -1, np.int32)
    rank[[code[address] for address in job.endpoints]] = np.arange(len(job.endpoints), dtype=np.int32)
    return rank
