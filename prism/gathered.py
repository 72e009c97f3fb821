"""Steps of a sharded model whose layers are gathered once: what is gathered goes around one way, what is reduced the other, and
the two take turns.

Each rests while the other goes on, and the forward pass may end in the longest rest of all. But the backward pass takes longer:
the step ends with what moves for longer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from collectors.columns.record import Flows
from prism.counting import rhythm_of, stream_of
from prism.kernels.intervals import Ints, length_before, union
from prism.kernels.rhythm import FOREVER, NONE, Rhythm
from prism.model import Stream

Spans = tuple[Ints, Ints]  # begins and ends, ns


def in_turns(
    flows: Flows,
    streams: Sequence[Stream],
    start: Ints,
    *,
    longer: float = 1.25,
    sure: float = 0.9,
    mostly: float = 0.75,
    short: float = 0.5,
    both: float = 4.0,
    equal: float = 0.05,
) -> Rhythm:
    """The steps of a job that only moves two streams of the same ranks, in turns; `NONE` of any other.

    Each has a rhythm that explains the share `sure` of it. What is between them is `mostly` `short` against both, which the
    work of a whole step is not, but checkpoints and evaluations may be there; or it is no more than the work on a layer, `both`
    ways: so many times the longest rest in what is over first. Nor do they meet for long. And one of them takes `longer`. They
    move the same but for the share `equal`, or one twice as much: numbers of two lengths, or partial sums. Context that goes
    around beside gradients is of any size.
    """
    if len(streams) != 2 or any(s.kind != "dp" for s in streams) or set(streams[0].members) != set(streams[1].members):
        return NONE
    moves = sorted(float(flows.octets[stream.rows].sum()) for stream in streams)
    if not any(abs(moves[1] - times * moves[0]) <= equal * moves[1] for times in (1, 2)):
        return NONE
    told = [rhythm_of(flows, start, stream.rows, 0.02, True) for stream in streams]
    if any(one.explained < sure or len(one.quiet) < 4 for one in told):
        return NONE
    moved = [_spans(one, int(start[stream.rows].min())) for one, stream in zip(told, streams, strict=True)]
    lasted = [float(np.median(ends - begins)) for begins, ends in moved]
    turned = lasted[0] > lasted[1]
    forward, backward = (moved, moved[::-1])[turned]
    if max(lasted) < longer * min(lasted):
        return NONE
    early = short * min(lasted)
    late = max(early, both * _longest_rest(*stream_of(flows, start, streams[int(turned)].rows)[:2], forward))
    rests = [_rests(*pair) for pair in ((forward, backward), (backward, forward))]
    if any(len(own) == 0 or np.mean((-early <= own) & (own <= late)) < mostly for own in rests):
        return NONE
    ends = backward[1]
    begun = np.sort(start[streams[int(turned)].rows])  # of a step that is cut short, too
    after = np.append(begun, FOREVER)[np.searchsorted(begun, (backward[0] + ends) // 2)]
    return Rhythm(
        np.stack([ends, np.maximum(after, ends)], axis=1), sum(one.octets for one in told), min(o.explained for o in told)
    )


def by_optimizer(
    flows: Flows,
    streams: Sequence[Stream],
    start: Ints,
    told: Rhythm,
    *,
    most: int = 4,
    longer: float = 3.0,
    often: float = 0.85,
    few: int = 6,
) -> Rhythm:
    """The steps of a sharded model that reduces after every micro-batch, of which `told` are the passes; else as told.

    Up to `most` passes are a step if the job rests for `longer` after one of so many, `often` the same of them, `few` times at
    least: only then the optimizer works.
    """
    if len(told.quiet) < 2 * few:
        return told
    rows = np.concatenate([stream.rows for stream in streams])
    begins, ends = told.quiet[:-1].T
    moves = union(start[rows], flows.end_ns[rows])
    rests = ends - begins - (length_before(ends, moves) - length_before(begins, moves))
    for times in range(2, most + 1):
        each = rests[: len(rests) // times * times].reshape(-1, times)
        last = int(np.bincount(each.argmax(axis=1), minlength=times).argmax())
        same = float(np.mean(each.argmax(axis=1) == last)) if len(each) >= few else 0.0
        rest, else_ = np.median(each[:, last]), np.median(np.delete(each, last, axis=1))
        if same >= often and rest > 0 and rest >= longer * else_:
            return replace(told, quiet=told.quiet[last::times], octets=times * told.octets)
    return told


def _spans(told: Rhythm, first: int) -> Spans:
    """When a stream moved: from one rest to the next, since its `first` record."""
    return np.append(first, told.quiet[:-1, 1]), told.quiet[:, 0]


def _longest_rest(start: Ints, end: Ints, moved: Spans) -> float:
    """The usual longest rest inside some spans of records that are in order of start, ns."""
    until, rest = start[1:], start[1:] - np.maximum.accumulate(end)[:-1]
    place = np.maximum(np.searchsorted(moved[0], until, "left") - 1, 0)  # what begins a span comes after the rest before it
    inside = (moved[0][place] < until) & (until <= moved[1][place])
    longest = np.zeros(len(moved[0]), np.int64)
    np.maximum.at(longest, place[inside], rest[inside])
    return float(np.median(longest))


def _rests(one: Spans, other: Spans) -> Ints:
    """How long it took from the end of each of some spans to the begin of another that is next; less than none if it had begun.

    What comes after the last is not known.
    """
    middle = (one[0] + one[1]) // 2
    place = np.searchsorted(other[0], middle)
    inside = place < len(other[0])
    return other[0][place[inside]] - one[1][inside]
