"""Measure lockstep: the offset between equal messages of members of one host, step after step.

Tensor-parallel twins start their k-th message within a fraction of a millisecond of each other. Pipeline stages are offset by a
fixed part of the step. Members of one collective that continues inside the host start at the same instant: a round joined them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from prism.evidence import constants as c
from prism.evidence.communicators import Communicator
from prism.evidence.step_period import Steps
from prism.evidence.streams import Stream

Floats = NDArray[np.float64]
Value = TypeVar("Value")


class Lockstep(NamedTuple):
    """Pairs of members of one host that send equal numbers of messages of one size.

    `offset`: median time between their k-th messages of a step, in the part of the time in which it is least: a fault delays a
    member later, a stage always. Of several messages per step it is the root mean square: stages are even where all ranks wait
    for one another. `jitter`: mean of the median deviations. Both are shares of the step; if a pair sends several sizes, the
    largest value counts. `together`: share of the octets in messages that start at one instant.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    offset: Floats
    jitter: Floats
    together: Floats

    def of(self, pairs: NDArray[np.bool_]) -> Lockstep:
        """Keep some of the pairs."""
        return Lockstep(self.first[pairs], self.second[pairs], self.offset[pairs], self.jitter[pairs], self.together[pairs])


def lockstep_of(communicators: Sequence[Communicator], hosts: Sequence[int], steps: Steps) -> Lockstep:
    """Compare the k-th messages of members of one host."""
    sent: dict[tuple[int, int, int], dict[int, list[Stream]]] = defaultdict(lambda: defaultdict(list))
    for one in communicators:
        for s in one.streams:
            if s.equal and len(s.rows) >= c.FEW_SENDS:
                sent[hosts[s.src], round(float(np.log(s.size)) / c.ONE_CLASS_SIZE), len(s.rows)][s.src].append(s)
    examined = _some(sorted({host for host, _, _ in sent}), c.HOSTS_TRIED)
    furthest: dict[tuple[int, int], tuple[float, ...]] = {}
    for (host, _, _), own in sent.items():
        if len(own) > 1 and host in examined:
            times = {member: np.sort(np.concatenate([s.start for s in streams])) for member, streams in sorted(own.items())}
            pairs = list(combinations(list(times)[: c.TWINS_TRIED], 2))
            for number in sorted({len(times[a]) for a, b in pairs if len(times[a]) == len(times[b])}):
                alike = [(a, b) for a, b in pairs if len(times[a]) == len(times[b]) == number]
                apart = _apart(np.array([times[b] - times[a] for a, b in alike]), steps)
                for (a, b), (offset, jitter, together) in zip(alike, apart.tolist(), strict=True):
                    octets = sum(s.volume for s in own[a])
                    far, deviating, joined, moved = furthest.get((a, b), (0.0, 0.0, 0.0, 0.0))
                    most = max((far, deviating), (offset, jitter))
                    furthest[a, b] = *most, joined + octets * together, moved + octets
    pair = np.array(list(furthest), np.int64).reshape(-1, 2)
    most_apart = np.array(list(furthest.values()), np.float64).reshape(-1, 4)
    return Lockstep(pair[:, 0], pair[:, 1], most_apart[:, 0], most_apart[:, 1], most_apart[:, 2] / most_apart[:, 3])


def _some(values: list[Value], limit: int) -> list[Value]:
    return values[:: max(1, -(-len(values) // limit))]


def _apart(offset: Floats, steps: Steps) -> Floats:
    """Return offset, jitter and `together` of pairs, from the offsets of their messages, ns, float64[pairs, messages]."""
    pairs, number = offset.shape
    per_step = max(1, round(number / steps.count))
    if abs(np.log(number / steps.count / per_step)) > c.EQUAL_VOLUME:  # not the same number in each step
        per_step = 1
    table = offset[:, : number // per_step * per_step].reshape(pairs, -1, per_step)
    parts = min(table.shape[1], c.PARTS_OF_LIFE)
    whole = table[:, : table.shape[1] // parts * parts].reshape(pairs, parts, -1, per_step)
    least = np.sqrt((np.median(whole, axis=2) ** 2).mean(axis=2)).min(axis=1)
    jitter = np.median(np.abs(table - np.median(table, axis=1, keepdims=True)), axis=1).mean(axis=1)
    together = np.mean(np.abs(offset) <= c.FINEST * steps.period, axis=1)
    return np.stack([least / steps.period, jitter / steps.period, together], axis=1)
