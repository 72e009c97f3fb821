"""Find when each step of a job ends, for the job and for each rank."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from collectors.columns.record import SMALL
from prism.steps import constants as c
from prism.steps._idle_intervals import idle_intervals, rests_of, shorter_than
from prism.steps._joined_repetitions import joined
from prism.steps._step_operations import has_all_operations
from prism.steps.counted_steps import counted_steps
from prism.steps.examined_traffic import Examined, repetition_of
from prism.steps.record_sequences import Floats, Ints, Mask, Sequences, classes
from prism.steps.step_ends import end_of, labelled
from prism.steps.traffic_clock import Clock


@dataclass(frozen=True, eq=False)
class Steps:
    """Segments of a job's time. `times`: their bounds, ns from the origin of the sequences, float64[n + 1]. `complete`: which
    are complete steps, bool[n]; the others were cut by the window, or are other work. `regular`: how well the traffic
    repeats, 0 ... 1. `count`: number of steps in the traffic. `ending`: records whose ends mark the end of steps,
    bool[records]. `examined`: the traffic in which they were found. `counted`: segment of each record by counts, −1 if unknown.
    """

    times: Floats
    complete: Mask
    regular: float
    count: float
    ending: Mask
    examined: Examined
    counted: Ints | None = None


def steps_of(sequences: Sequences, examined: Examined | None = None, *, counts: bool = True) -> Steps | None:
    """Find the steps of the job to which these sequences belong; None if nothing repeats three times.

    `examined`: the repetition of the job's traffic, if it is known already; used if it covers the time of the sequences.
    `counts`: divide whole recordings by counts; that is slower, and evidence needs no exact bounds.
    """
    found = examined if examined is not None and examined.covers(sequences) else repetition_of(sequences)
    if found is None or _rounds(sequences, found.places, found.clock):
        return None
    found = joined(found, sequences)
    clock, places, bins = found.clock.later(found.origin - sequences.origin), found.places, found.step
    mean = labelled(found.mean, clock, places, sequences)
    phase, signalled = end_of(mean)
    usual = bins
    lasting, within = sequences.lasting.copy() if sequences.bursts else ~sequences.signals, shorter_than(sequences, clock, bins)
    at, whole = _segments(clock, places, phase)
    near = max(1.0, c.NEAR * usual)
    little = sequences.small & sequences.lasting
    small, selected = little if signalled and little.any() else None, lasting.take(sequences.of) & within
    rests = rests_of(sequences, selected, small)
    counts &= bool(whole[1:-1].all()) and mean.may_begin_after(phase)

    def idle_of(places: Floats, inside: Floats | None = None) -> Floats:
        return idle_intervals(places, clock, rests, near, sequences.life, inside)

    counted = counted_steps(sequences, clock.times(places)) if counts else None
    by_count = None if counted is None else _counted_idle(counted.bounds, at, clock, idle_of, signalled=signalled)
    if counted is None or by_count is None:
        counted, inside, idle = None, None, idle_of(at)
        whole &= has_all_operations(sequences, idle.mean(1))
    else:
        (at, idle), inside, whole = by_count, counted.bounds, np.ones(len(counted.bounds) + 1, np.bool_)
    idle_time, times = idle[:, 1] - idle[:, 0], idle.mean(1)
    if sequences.signals.any():
        cut = inside is None and mean.begins < 0
        steady = _periodic_signals(sequences, times, idle) & _final_signals(sequences, idle, cut=cut)
        lasting |= steady
        if signalled and small is None and steady.any():  # the scalars are control messages, which are known only now
            rests = rests_of(sequences, lasting.take(sequences.of) & within, sequences.small & lasting)
            idle = idle_of(at, inside)
        times = _after_signals(idle, np.sort(sequences.end[steady[sequences.of]]))
    rest = at[-1] - at[-2] if inside is None and len(times) > c.LEAST_PLACES else usual
    late = rest < (1 - c.WHOLE) * usual and 4 * idle_time[-2] < np.median(idle_time[1:-1])
    if late or rest <= usual / c.PHASES:  # the last step ends a little late on this clock
        times, whole = np.delete(times, -2), whole[:-1]
    kept = np.append(np.diff(times) > 0, True)
    segment = counted.segment if counted is not None and kept.all() else None
    return Steps(times[kept], whole[kept[:-1]], found.regular, clock.parts / usual, lasting[sequences.of], found, segment)


def _counted_idle(
    bounds: Floats, at: Floats, clock: Clock, idle_of: Callable[[Floats, Floats | None], Floats], *, signalled: bool
) -> tuple[Floats, Floats] | None:
    """Return the place on the clock, and the idle time, of each counted bound; None if idle times show that counts are wrong.

    `signalled`: steps end with a scalar reduction.
    """
    place = _within_counted(at, bounds, clock)
    idle, moved = idle_of(place, bounds), np.count_nonzero(~np.isin(place, at))
    wrong = moved >= c.LEAST_PLACES and _shorter(idle[1:-1], idle_of(at, None)[1:-1], signalled=signalled)
    return None if wrong else (place, idle)


def _shorter(counted: Floats, timed: Floats, *, signalled: bool) -> bool:
    """Whether counts move several bounds out of idle times that are far longer, but not most, or to where nothing rests: the
    recording begins with more than a step, such as the first copy of a model. Both are idle times, float64[n, 2].

    Most are moved out of idle times that follow a scalar if the recording holds a whole number of steps, but begins within one.
    """
    asked, middle = counted.mean(1), timed.mean(1)
    between = np.searchsorted((middle[1:] + middle[:-1]) / 2, asked)
    nearest = timed[between] if len(timed) else counted
    moved = (counted[:, 1] < nearest[:, 0]) | (nearest[:, 1] < counted[:, 0])
    short, long = (np.median(np.diff(idle[moved])) if moved.any() else 0.0 for idle in (counted, nearest))
    few = signalled or 2 * np.count_nonzero(moved) <= len(moved) or short < np.median(np.diff(timed[:, 0])) / c.PHASES
    return bool(np.count_nonzero(moved) >= c.LEAST_PLACES and few and long > c.FAR_LONGER * short)


def _within_counted(at: Floats, counted: Floats, clock: Clock) -> Floats:
    """Return a place on the clock for each counted bound: that of `at` inside its interval, else its end nearest to one."""
    low, high = clock.places(counted).T
    after = at[np.minimum(np.searchsorted(at, low), len(at) - 1)]
    before = at[np.maximum(np.searchsorted(at, low) - 1, 0)]
    place = np.where((after > high) & (low - before < after - high), low, np.minimum(after, high))
    return np.concatenate([[0.0], place, [float(clock.parts)]])


def _rounds(sequences: Sequences, places: Ints, clock: Clock) -> bool:
    """Check for rounds of a ring: fewer messages per pair than the ring has rounds, and no idle time between most of them."""
    own = np.flatnonzero(sequences.lasting)
    pair, back = ((a[own] << 32) + b[own] for a, b in ((sequences.src, sequences.dst), (sequences.dst, sequences.src)))
    if sequences.bursts or len(np.unique(sequences.kind[own])) > 1 or np.isin(pair, back).any() or len(places) < 2:
        return False
    ends = int(max(sequences.src.max(), sequences.dst.max())) + 1
    graph = coo_array((np.ones(len(own)), (sequences.src[own], sequences.dst[own])), (ends, ends))
    ring = int(np.bincount(connected_components(graph, directed=False)[1]).max())
    moved = np.bincount(sequences.of, sequences.weight, len(sequences))[own]
    if np.median(moved) / len(places) >= ring - 1:
        return False
    begin, until = sequences.start[sequences.in_time], np.maximum.accumulate(sequences.end[sequences.in_time])
    idle = until[:-1][begin[1:] > until[:-1]]  # nothing is in flight after these
    at = clock.times(places)
    return bool(2 * np.count_nonzero(np.diff(np.searchsorted(idle, at))) < len(places) - 1)


def _segments(clock: Clock, places: Ints, phase: float) -> tuple[Floats, Mask]:
    """Bounds on the clock, float64[n + 1], and which segments are whole steps, from a place of each and the end's phase.

    An interruption follows a step and precedes one. A job that crashed has whole steps after the silence; else a silence is
    part of its step, as in a hang, or where records are missing.
    """
    parts, usual = clock.parts, float(np.median(np.diff(places)))
    silence, near = c.SILENT * float(np.median(np.diff(clock.times(places)))), 2 * c.NEAR * usual
    ends: list[float] = [places[0] - (1 - phase) * usual]
    for before, after in zip(places[:-1].tolist(), places[1:].tolist(), strict=True):
        low, high = before + int(near), after + int(near)
        longest = low + int(np.argmax(clock.spent[low:high])) + 0.5
        first, second = before + phase * usual, after - (1 - phase) * usual
        whole_after = abs((second - longest + usual / 2) % usual - usual / 2) <= near
        again = clock.spent[int(longest)] > silence and whole_after
        if after - before <= (1 + (c.ASTRAY if again else c.STRETCH)) * usual:
            own = [before + phase * (after - before)]
        elif again:
            own = [*np.arange(first, longest - near, usual), longest, *np.arange(second, longest + near, -usual)[::-1]]
        else:
            own = [first, second]
        ends += [end for end in own if end > ends[-1] + near]
    ends.append(places[-1] + phase * usual)
    inside = np.array([end for end in ends if 0 < end < parts])
    bounds = np.concatenate([[0.0], inside, [float(parts)]])
    length = np.diff(bounds)
    whole = (length >= (1 - c.STRETCH) * usual) & (length <= (1 + c.STRETCH) * usual)
    whole[0] &= length[0] >= c.WHOLE * usual
    whole[-1] &= length[-1] >= c.WHOLE * usual
    if len(length) > 2 and length[0] < (1 - c.WHOLE) * usual:  # the first step began a little late on this clock
        bounds, whole = np.delete(bounds, 1), whole[1:]
    return bounds, whole


def _periodic_signals(sequences: Sequences, times: Floats, idle: Floats) -> Mask:
    """Select signals that are equally frequent in most steps from their first to their last, the last of a step at one distance
    from the last payload, and none in half of the step: scalar reductions. Those of a monitor vary; those that a library sends
    every second come at any place.
    """
    n = len(times) - 1
    signals = np.flatnonzero(sequences.signals)
    own = np.flatnonzero(sequences.signals.take(sequences.of))
    start, of = sequences.start.take(own), np.searchsorted(signals, sequences.of.take(own))
    found = np.clip(np.searchsorted(times, start, "right") - 1, 0, n - 1)
    moved = np.bincount(of * n + found, minlength=len(signals) * n).reshape(-1, n)
    first = np.flatnonzero(np.diff(of, prepend=-1))  # a restarted job opens other connections
    begun, over = found[first], found[np.append(first[1:], len(of)) - 1]
    alive = (np.arange(n) >= begun[:, None]) & (np.arange(n) <= over[:, None])
    # the median over the steps in which each is there: the others come last in the order
    number, whole = alive.sum(1), np.sort(np.where(alive, moved, len(sequences.of)), axis=1)
    middle = np.stack([(number - 1) // 2, number // 2], axis=1)
    usual = np.take_along_axis(whole, middle, axis=1).mean(axis=1)
    last = np.full(moved.shape, -1.0)
    last[of, found] = start  # ascending in each cell
    turn = np.exp(2j * np.pi * (last - idle[1:, 0]) / np.median(np.diff(times)))
    together = np.abs(np.where(last >= 0, turn, 0).sum(1)) > c.AT_ONE_PLACE * (last >= 0).sum(1)
    parts = round(1 / c.BRIEF)
    place = (start - idle[found + 1, 0]) / np.median(np.diff(times)) % 1
    filled = np.unique(of * parts + (place * parts).astype(np.int64)) // parts
    together &= 2 * np.bincount(filled, minlength=len(signals)) <= parts
    often = (usual >= 1) & (10 * (alive & (moved == usual[:, None])).sum(1) >= 6 * number)
    out = np.zeros(len(sequences), np.bool_)
    out[signals] = together & often & (number * c.PARTS_OF_LIFE >= c.LEAST_PARTS * n)
    return out


def _final_signals(sequences: Sequences, idle: Floats, *, cut: bool) -> Mask:
    """Select signals after the payload of a step, in the idle time that ends it. Credits and ready messages are excluded.

    A ready message precedes the first payload of its receiver. If the recording is `cut`, the first message is unknown; then a
    signal whose receiver ever answers must be nearer to the payload before it than to the payload after it. So must those of
    which there are as many as answers of one size, as with credits: the first may precede the recording.
    """
    place = np.maximum(np.searchsorted(idle[:, 0], sequences.start, "right") - 1, 0)
    begin, end = idle[place].T
    inside = (sequences.start > begin) & (sequences.end < end)
    cells = sequences.of * len(idle) + place  # a reduction's first round may overlap the payload of another rank
    ends, steps = (np.bincount(np.unique(own) // len(idle), minlength=len(sequences)) for own in (cells[inside], cells))
    many = 2 * ends > steps
    early = sequences.start - begin < end - sequences.end
    near = 2 * np.bincount(sequences.of, inside & early, len(sequences)) > np.bincount(sequences.of, inside, len(sequences))
    first = sequences.start[sequences.begins[:-1]]
    answered, as_many = _answers(sequences, first)
    asks = (first < answered) & (answered < sequences.life)
    alone = (answered == sequences.life) | ~(as_many | cut)
    return np.asarray((many | sequences.bursts) & ~asks & (near | alone))


def _answers(sequences: Sequences, first: Ints) -> tuple[Ints, Mask]:
    """For each sequence: when payload the other way starts, ns, the life if never; whether some of it has as many messages.

    One more or less is as many. `first`: start of each sequence, ns.
    """
    payload = np.flatnonzero(~sequences.signals)
    pair, back = sequences.src * (1 << 32) + sequences.dst, sequences.dst * (1 << 32) + sequences.src
    known, number = np.unique(pair[payload], return_inverse=True)
    starts = np.full(len(known) + 1, sequences.life)
    np.minimum.at(starts, number, first[payload])
    place = np.searchsorted(known, back)
    place[~np.isin(back, known)] = len(known)
    width = int(sequences.count.max(initial=0)) + 2
    seen = number * width + sequences.count[payload]
    as_many = np.isin(place * width + sequences.count + np.array([[-1], [0], [1]]), seen).any(axis=0)
    return starts[place], np.asarray(as_many)


def _after_signals(idle: Floats, signals: Ints) -> Floats:
    """Compute times of bounds, ns. If most idle times that end steps contain signals, a step ends after the last signal."""
    last = signals[np.maximum(np.searchsorted(signals, idle[:, 1]) - 1, 0)] if len(signals) else idle[:, 0]
    inside = (last > idle[:, 0]) & (last < idle[:, 1])
    inside &= 2 * inside[1:-1].sum() > len(idle) - 2
    return np.asarray(np.where(inside, last + idle[:, 1], idle.sum(1)) / 2)


def segment_of(sequences: Sequences, steps: Steps) -> Ints:
    """Segment of each record: by counts, because ranks may end a step after others have begun the next one; else by time.

    Then it is the one in which a message begins; a burst that continues into the next step ends there.
    """
    n = len(steps.complete)
    bound = sequences.end - 1 if sequences.bursts else sequences.start
    by_time = np.clip(np.searchsorted(steps.times, bound, "right") - 1, 0, n - 1)
    return by_time if steps.counted is None else np.where(steps.counted >= 0, steps.counted, by_time)


def rank_steps(sequences: Sequences, steps: Steps, ends: int, hosts: Sequence[Ints] = ()) -> list[Ints]:
    """Compute begin and end of each complete step at each endpoint.

    Parameters
    ----------
    sequences : Sequences
        Records of the job.
    steps : Steps
        Steps of the job.
    ends : int
        Number of endpoints.
    hosts : sequence of int64[n]
        Endpoints of one host each, whose ranks meet inside it.

    Returns
    -------
    list of int64[n, 2]
        ns since the epoch, per endpoint. A step ends with the last payload that the endpoint sends or receives in it; the next
        step begins there.
    """
    n = len(steps.complete)
    segment = segment_of(sequences, steps)
    last = np.full((ends, n), -1, np.int64)
    cell = sequences.of * n + segment
    first = np.flatnonzero(np.diff(cell, prepend=-1))  # of the records of a sequence in a segment
    of, segment = sequences.of[first], segment[first]
    latest = np.maximum.reduceat(np.where(steps.ending, sequences.end, -1), first)
    for side in (sequences.src, sequences.dst):
        np.maximum.at(last, (side[of], segment), latest)
    if hosts:
        _take_part(last, sequences, steps, (of, segment, latest), hosts)
    whole = (last >= 0) & steps.complete
    last = np.where(last >= 0, np.maximum.accumulate(last, axis=1), -1)
    before = np.concatenate([np.full((ends, 1), -1), last[:, :-1]], axis=1)
    begins = np.where(before >= 0, before, np.maximum(steps.times[:-1], 0).astype(np.int64))
    both = np.stack([np.minimum(begins, last), last], axis=2) + sequences.origin
    return [own[known] for own, known in zip(both, whole, strict=True)]


def _take_part(last: Ints, sequences: Sequences, steps: Steps, latest: tuple[Ints, Ints, Ints], hosts: Sequence[Ints]) -> None:
    """End the steps of all ranks of a host with a scalar reduction that ends at all hosts together, by some ranks of each.

    `last`: end of each step by endpoint, int64[endpoints, n]. `latest`: sequence, segment, and end of its last record.
    """
    of, segment, ends = latest
    octets = np.bincount(sequences.of, sequences.octets, len(sequences)) / sequences.count
    size, scalars = classes(octets, c.ONE_SIZE), sequences.small & (octets <= SMALL)
    members, number_of = np.concatenate(hosts), [len(own) for own in hosts]
    of_host, begins = np.repeat(np.arange(len(hosts)), number_of), np.cumsum([0, *number_of[:-1]])
    for number in np.unique(size[scalars]).tolist():
        own, scalar = (scalars & (size == number))[of], np.full_like(last, -1)
        for side in (sequences.src, sequences.dst):
            np.maximum.at(scalar, (side[of[own]], segment[own]), ends[own])
        final = np.maximum.reduceat(scalar[members], begins, axis=0)
        together = (final.min(0) >= 0) & (np.ptp(final, axis=0) <= c.BRIEF * np.diff(steps.times))
        if together.any():
            end = np.where(together, final, -1)[of_host]
            last[members] = np.where(scalar[members] < 0, np.maximum(last[members], end), last[members])
