"""Join repetitions of a job's traffic that are micro-batches: only several together hold the scalars of a step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import ndimage

from prism.steps import constants as c
from prism.steps.examined_traffic import Examined
from prism.steps.record_sequences import Floats, Sequences, chosen
from prism.steps.step_ends import folded


def joined(found: Examined, sequences: Sequences) -> Examined:
    """Return the repetition of whole steps if each of `found` is a micro-batch that gathers and reduces as all others do.

    Then a scalar (loss, gradient norm) comes once in so many repetitions, and the optimizer follows: some time, but far less
    than a forward pass. Values that are logged after every few steps take no time, and an evaluation takes more.
    """
    clock, number = found.clock.later(found.origin - sequences.origin), np.arange(len(found.places))
    scalars = (sequences.scalars | (sequences.small & sequences.lasting)).take(sequences.of)
    place = np.interp(clock.places(sequences.start[scalars]), found.places, number)
    events = _regular(place[(place > 0) & (place < number[-1])])
    if len(events) < c.LEAST_PLACES or not _optimizer_follows(events, found):
        return found
    places = np.interp(events, number, found.places).astype(np.int64)
    mean = folded(clock, places, sequences, chosen(sequences), timed=True)
    return replace(found, clock=clock, places=places, mean=mean, origin=sequences.origin)


def _regular(place: Floats) -> Floats:
    """Return the place of each scalar if one comes after every second, third, ... repetition; else an empty array.

    `place`: repetitions before each scalar of each pair, float64[n].
    """
    turn = float(np.angle(np.exp(2j * np.pi * place).sum())) / (2 * np.pi) if len(place) else 0.0
    nearest = np.round(place - turn).astype(np.int64)
    number, often = np.unique(nearest, return_counts=True)
    number = number[often > c.IN_MOST_STEPS * np.max(often, initial=0)]
    apart = np.diff(number)
    usual = int(np.median(apart)) if len(apart) >= c.LEAST_PLACES - 1 else 1
    if usual < 2 or np.mean(apart == usual) < 1 - c.SOME_STEPS or (apart % usual).any():
        return np.zeros(0)
    return np.array([np.median(place[nearest == own]) for own in number.tolist()])


def _optimizer_follows(events: Floats, found: Examined) -> bool:
    """Check whether repetitions with a scalar take longer than others, by more than chance, and by less than a forward pass.

    `events`: place of each scalar, in repetitions. A repetition is timed from the phase where the job rests least, at a
    distance from the scalars: a long idle time is one place on the clock, so a bound near it may lie before or after it.
    """
    spent, turn = found.mean.spent, float(np.median((events - events[0] + 0.5) % 1) - 0.5 + events[0]) % 1
    phase = (np.arange(len(spent)) + 0.5) / len(spent)
    rests = ndimage.maximum_filter1d(spent, 2 * int(c.NEAR * len(spent)) + 1, mode="wrap")
    dense = float(phase[np.argmin(np.where(np.abs((phase - turn + 0.5) % 1 - 0.5) > c.ASTRAY, rests, np.inf))])
    at = np.interp(np.arange(len(found.places) - 1) + dense, np.arange(len(found.places)), found.places)
    took = np.diff(found.clock.times(at))
    own = np.floor(events - dense).astype(np.int64)
    own = own[(own >= 0) & (own < len(took))]
    longer = took[own] / np.median(np.delete(took, own)) - 1
    usual = float(np.median(longer))
    chance = float(np.median(np.abs(longer - usual))) / np.sqrt(len(longer))
    return bool(max(c.OPTIMIZER, c.SIGMAS * chance) < usual < c.FORWARD)
