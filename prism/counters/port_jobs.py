"""Find jobs in groups of ports: period, changes of pace, and ports that differ from their peers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism.counters._port_rhythms import PortGroups, port_groups
from prism.counters.counter_rates import Rates
from prism.counters.server_checks import Agreement, Port, agreement

PEERS = 3  # ports of equal volume with which a port is compared
EQUAL = 0.1  # largest relative difference of volumes in one group
ODD = 0.05  # smallest relative difference of an odd port
SIGMAS = 8.0
CHANGE = 0.03  # smallest relative change of pace
WINDOW = 24  # windows per recording for changes of pace
SHORTEST = 2.5  # bins: shorter periods cannot be resolved by the polls
STEPS = 12  # periods of a window in which the pace is measured
LIKELY = 0.6  # logarithm of the ratio of a window's period to the median: less than a factor of two
HELD = 0.5  # lowest autocorrelation of a period


@dataclass(frozen=True)
class OddPort:
    """A port that differs from its peers: `what` is volume, rhythm or peak; `ratio` is relative to the peers' median."""

    port: tuple[str, str]
    what: str
    ratio: float
    confidence: float


@dataclass(frozen=True)
class PaceChange:
    """Time at which a job's octets per second changed, and the ratio to the rate before."""

    time_ns: int
    ratio: float


@dataclass(frozen=True)
class PortJob:
    """Ports with one rhythm. `period_s` is NaN if the polling interval is too long.

    `roles`: groups of equal volume. `agreement`: share of its ports that each half of the recording finds on its own.
    `servers`: agreement of the NICs of each server.
    """

    ports: tuple[tuple[str, str], ...]
    roles: tuple[tuple[tuple[str, str], ...], ...]
    period_s: float
    octets_per_s: float
    confidence: float
    agreement: float
    odd: tuple[OddPort, ...]
    changes: tuple[PaceChange, ...]
    servers: Agreement


def port_jobs(rates: Rates, servers: Mapping[Port, str] | None = None) -> tuple[PortJob, ...]:
    """Find jobs of at least two ports, largest first. `servers`: server at each port, if known."""
    found = port_groups(rates)
    half = rates.octets.shape[1] // 2
    halves = [_sets(port_groups(part)) for part in (rates.part(0, half), rates.part(half, 2 * half))] if half >= 64 else []
    jobs = []
    for number in np.unique(found.job[found.job >= 0]).tolist():
        places = np.flatnonzero(found.job == number)
        jobs.append(_job(rates, found, places, halves, servers or {}))
    return tuple(sorted(jobs, key=lambda one: (-len(one.ports), one.ports)))


def _sets(found: PortGroups) -> list[set[int]]:
    return [
        {int(port) for place in np.flatnonzero(found.job == number) for port in found.groups[place]}
        for number in np.unique(found.job[found.job >= 0])
    ]


def _job(
    rates: Rates,
    found: PortGroups,
    places: NDArray[np.intp],
    halves: Sequence[list[set[int]]],
    servers: Mapping[Port, str],
) -> PortJob:
    members = np.concatenate([found.groups[place] for place in places])
    both = min((_agreement(set(members.tolist()), own) for own in halves), default=0.5)
    ports = tuple(rates.ports[i] for i in sorted(members.tolist()))
    nics = agreement(ports, rates.ports, rates.octets.sum(axis=1, dtype=np.float64), servers)
    checked = min(both, nics.share) if nics.servers else both
    cohesion = float(np.median(found.cohesion[places]))
    series = rates.octets[found.groups[places[np.argmax([len(found.groups[place]) for place in places])]]].sum(axis=0)
    period, paces = paces_of(series)
    roles = [role for place in places for role in _roles(rates, found.groups[place])]
    odd = [one for place in places for one in _odd(rates, found.groups[place])]
    total = rates.octets[members].sum(axis=0)
    return PortJob(
        ports,
        tuple(tuple(rates.ports[i] for i in role) for role in roles),
        period * rates.seconds,
        float(total.mean() / rates.seconds),
        round(float(np.clip(cohesion, 0, 1) * (0.5 + 0.5 * checked) * (1.0 if np.isfinite(period) else 0.6)), 3),
        round(both, 3),
        tuple(odd),
        tuple(changes(paces, len(series) // max(len(paces), 1) * rates.bin_ns, rates.start_ns)),
        nics,
    )


def _agreement(members: set[int], other: Sequence[set[int]]) -> float:
    return max((len(members & own) / len(members | own) for own in other), default=0.0)


def period_of(series: NDArray[np.float32]) -> float:
    """Period of a series in bins from its autocorrelation, refined over several periods; NaN if there is none."""
    n = len(series)
    values = series.astype(np.float64) - series.mean()
    size = 1 << int(np.ceil(np.log2(2 * n)))
    spectrum = np.fft.rfft(values, size)
    auto = np.fft.irfft(np.abs(spectrum) ** 2, size)[: n // 2]
    if not len(auto) or auto[0] <= 0:
        return float("nan")
    auto = auto / auto[0] / (1 - np.arange(len(auto)) / n)
    peaks = np.flatnonzero((auto[1:-1] >= auto[:-2]) & (auto[1:-1] > auto[2:])) + 1
    peaks = peaks[peaks >= 2]
    if not len(peaks) or auto[peaks].max() < HELD * _noise(auto):
        return float("nan")
    height = auto[peaks].max()
    first = int(peaks[auto[peaks] >= 0.8 * height][0])
    fine = _refined(auto, first)
    for times in range(2, len(auto) // max(first, 1)):
        near = round(fine * times)
        reach = max(int(0.2 * first), 1)
        low, high = near - reach, near + reach + 1
        if high >= len(auto) - 1:
            break
        at = low + int(auto[low:high].argmax())
        if auto[at] < 0.5 * height or at in (low, high - 1):
            break
        fine = _refined(auto, at) / times
    return fine if fine >= SHORTEST else float("nan")


def _noise(auto: NDArray[np.float64]) -> float:
    """Minimum height of a peak: lower for long series."""
    return max(0.2, min(1.0, 12 / float(np.sqrt(2 * len(auto)))))


def _refined(auto: NDArray[np.float64], at: int) -> float:
    """Interpolate a peak with a parabola."""
    left, top, right = (float(one) for one in auto[at - 1 : at + 2])
    bend = left - 2 * top + right
    return at + float(0.5 * (left - right) / bend) if bend < 0 else float(at)


def _roles(rates: Rates, group: NDArray[np.intp]) -> list[list[int]]:
    """Group ports by volume: neighbours in size differ by less than `EQUAL`."""
    volume = rates.octets[group].sum(axis=1)
    order = group[np.argsort(volume)]
    cuts = np.flatnonzero(np.diff(np.sort(volume)) > EQUAL * np.sort(volume)[:-1]) + 1
    return [part.tolist() for part in np.split(order, cuts)]


def _odd(rates: Rates, group: NDArray[np.intp]) -> list[OddPort]:
    """Find ports that differ from their peers in volume, or in the speed at which they move it."""
    if len(group) <= PEERS:
        return []
    rows = rates.octets[group].astype(np.float64)
    volume = rows.sum(axis=1)
    peak = np.quantile(rows, 0.98, axis=1) / np.maximum(volume, 1)
    out: list[OddPort] = []
    for what, values in (("volume", volume), ("peak", peak)):
        middle = float(np.median(values))
        spread = max(1.4826 * float(np.median(np.abs(values - middle))), ODD / SIGMAS * middle, 1e-30)
        far = (values - middle) / spread
        for i in np.flatnonzero((np.abs(far) > SIGMAS) & (np.abs(values / max(middle, 1e-30) - 1) > ODD)).tolist():
            if not any(one.port == rates.ports[group[i]] for one in out):
                sure = round(float(1 - 1 / (1 + (abs(far[i]) / SIGMAS) ** 2)), 3)
                out.append(OddPort(rates.ports[group[i]], what, round(float(values[i] / middle), 3), sure))
    return out if len(out) <= len(group) // 3 else []


def paces_of(series: NDArray[np.float32]) -> tuple[float, NDArray[np.float64]]:
    """Compute the median period in bins, NaN if there is none, and the pace (1 / period) in windows of at least `STEPS`
    periods.

    Pauses between steps have no effect, because periods come from the autocorrelation. Without a period, paces are octets per
    bin of each window.
    """
    whole = period_of(series)
    part = series[: max(len(series) // 4, 1)]
    guess = float(np.nanmin([whole, period_of(part), period_of(series[-len(part) :]), np.inf]))
    width = max(len(series) // WINDOW, 4 if not np.isfinite(guess) else round(STEPS * guess))
    windows = len(series) // width
    if windows < 1:
        return whole, np.zeros(0)
    cut = series[: windows * width].reshape(windows, width)
    if not np.isfinite(guess):
        return whole, cut.mean(axis=1).astype(np.float64)
    own = np.array([period_of(one) for one in cut])
    known = np.isfinite(own)
    if known.mean() < HELD:
        return whole, np.zeros(0)
    usual = float(np.median(own[known]))
    # Multiples of the period are excluded.
    own = np.where(known & (np.abs(np.log(np.where(known, own, 1) / usual)) < LIKELY), own, np.nan)
    own = np.interp(np.arange(windows), np.flatnonzero(np.isfinite(own)), own[np.isfinite(own)])
    stable = float(np.ptp(own)) < CHANGE * usual
    return whole if stable and abs(whole / usual - 1) < CHANGE else usual, 1 / own


def changes(paces: NDArray[np.float64], window_ns: int, start_ns: int) -> list[PaceChange]:
    """Find the times at which the pace of a job changes, by binary segmentation."""
    if len(paces) < 6:
        return []
    noise = 1.4826 * float(np.median(np.abs(np.diff(paces)))) / np.sqrt(2)
    found: list[tuple[int, float]] = []
    _split(paces, 0, len(paces), max(noise, 1e-3 * float(np.abs(paces).mean()), 1e-12), found)
    return [PaceChange(start_ns + at * window_ns, round(ratio, 4)) for at, ratio in sorted(found)]


def _split(means: NDArray[np.float64], low: int, high: int, noise: float, found: list[tuple[int, float]]) -> None:
    if high - low < 6:
        return
    sums = np.cumsum(means[low:high])
    n = high - low
    k = np.arange(2, n - 1)
    left, right = sums[k - 1] / k, (sums[-1] - sums[k - 1]) / (n - k)
    score = np.abs(left - right) / (noise * np.sqrt(1 / k + 1 / (n - k)))
    best = int(score.argmax())
    ratio = float(right[best] / max(left[best], 1e-12))
    if score[best] > SIGMAS and abs(ratio - 1) > CHANGE:
        at = low + int(k[best])
        found.append((at, ratio))
        _split(means, low, at, noise, found)
        _split(means, at, high, noise, found)
