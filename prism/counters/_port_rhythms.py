"""Find ports with one rhythm: first on each switch, whose ports share one poller clock, then across switches.

Two ports of one communicator move equal octets at the same times, so their series correlate. Poller clocks differ between
switches, and pipeline stages follow each other. So groups of different switches, and groups of different volume, are compared
over lags. Unrelated jobs differ in period or in the jitter of their steps. The correlation of unrelated groups is estimated
from the data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from prism.counters.counter_rates import Rates

Floats = NDArray[np.float32]
ALIKE = 0.5  # correlation from which ports of a switch have one rhythm: half of the traffic is common
LEAST = 0.35  # correlation over lags below which groups are never joined
SAME = 0.7  # share of the correlation that groups of one rhythm can reach; jobs with similar periods reach half of it
CHANCE = 8.0  # robust sigmas above the correlation of unrelated groups
IDLE = 1e-3  # share of the busiest port's octets below which a port is idle
LAG_S = 120.0  # seconds: largest difference of poller clocks, plus the delay of stages
CLIP = 6.0  # standard deviations: a single burst of a backup must not dominate the rhythm
PAIRS = 60_000  # pairs of groups that are compared at a time


@dataclass(frozen=True, eq=False)
class PortGroups:
    """Groups of ports, as indices of `Rates.ports`. `job`: number of each group's job, −1 if none.

    `lag`: bins by which a group follows the first group of its job. `cohesion`: correlation of each group with the rest of its
    job, or of its ports with one another.
    """

    groups: tuple[NDArray[np.intp], ...]
    job: NDArray[np.int32]
    lag: NDArray[np.int32]
    cohesion: NDArray[np.float64]
    chance: float


def standardised(octets: Floats) -> Floats:
    """Normalize rows to mean 0 and length 1 without drift and single bursts; constant rows are 0."""
    rows = octets.astype(np.float32)
    rows = rows - _smooth(rows, max(rows.shape[1] // 20, 3))
    spread = rows.std(axis=1, keepdims=True)
    rows = np.clip(np.divide(rows, spread, out=np.zeros_like(rows), where=spread > 0), -CLIP, CLIP)
    rows -= rows.mean(axis=1, keepdims=True)
    length = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    out: Floats = np.divide(rows, length, out=np.zeros_like(rows), where=length > 0)
    return out


def _smooth(rows: Floats, width: int) -> Floats:
    """Moving mean along rows, shorter at the ends."""
    sums = np.concatenate([np.zeros((len(rows), 1)), np.cumsum(rows, axis=1, dtype=np.float64)], axis=1)
    at = np.arange(rows.shape[1])
    low, high = np.maximum(at - width, 0), np.minimum(at + width + 1, rows.shape[1])
    return np.asarray((sums[:, high] - sums[:, low]) / (high - low), np.float32)


def port_groups(rates: Rates, *, alike: float = ALIKE) -> PortGroups:
    """Group the ports with traffic, and join groups to jobs."""
    volume = rates.octets.sum(axis=1)
    busy = np.flatnonzero(volume > IDLE * volume.max()) if len(volume) else np.zeros(0, np.intp)
    if len(busy) < 2 or rates.octets.shape[1] < 32:
        return PortGroups((), np.zeros(0, np.int32), np.zeros(0, np.int32), np.zeros(0), 0.0)
    rows = standardised(rates.octets[busy])
    switches = [rates.ports[i][0] for i in busy.tolist()]
    groups, means = [], []
    for switch in dict.fromkeys(switches):
        own = np.array([i for i, name in enumerate(switches) if name == switch])
        for members in _correlated_rows(rows[own], alike):
            groups.append(busy[own[members]])
            means.append(rows[own[members]].mean(axis=0))
    job, lag, cohesion, chance = _jobs(np.stack(means), np.array([len(one) for one in groups]), rates.seconds)
    return PortGroups(tuple(groups), job, lag, cohesion, chance)


def _correlated_rows(rows: Floats, alike: float) -> list[NDArray[np.intp]]:
    """Group rows that correlate with one another, by average linkage."""
    if len(rows) == 1:
        return [np.zeros(1, np.intp)]
    apart = np.clip(1 - rows @ rows.T, 0, 2)
    upper = apart[np.triu_indices(len(rows), 1)]
    label = fcluster(linkage(upper, "average"), 1 - alike, "distance")
    return [np.flatnonzero(label == one) for one in np.unique(label)]


def _jobs(
    means: Floats, sizes: NDArray[np.int64], seconds: float
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64], float]:
    """Join groups whose mean series correlate over some lag by more than chance."""
    n, length = len(means), means.shape[1]
    norm = np.sqrt((means * means).sum(axis=1, keepdims=True))
    means = np.divide(means, norm, out=np.zeros_like(means), where=norm > 0)
    own = np.where(sizes > 1, (norm[:, 0] ** 2 * sizes - 1) / np.maximum(sizes - 1, 1), 0.0)  # mean correlation of its ports
    if n == 1:
        return np.zeros(1, np.int32), np.zeros(1, np.int32), own, 0.0
    most = min(max(int(LAG_S / seconds), 2), length // 4)
    size = 1 << int(np.ceil(np.log2(length + most)))
    spectra = np.fft.rfft(means, size, axis=1).astype(np.complex64)
    first, second = np.triu_indices(n, 1)
    near = _same_spectrum(spectra, first, second)
    first, second = first[near], second[near]
    best, lags = _over_lags(spectra, first, second, size, most)
    chance = _chance_level(best, n)
    whole = np.sqrt(np.maximum(own, LEAST))  # highest correlation of a group with a similar one, because its ports differ
    whole = np.where(sizes > 1, whole, 1.0)
    tied = best > np.maximum(max(LEAST, chance), SAME * whole[first] * whole[second])
    graph = coo_matrix((np.ones(int(tied.sum())), (first[tied], second[tied])), shape=(n, n))
    count, label = connected_components(graph, directed=False)
    cohesion = own.copy()
    lag = np.zeros(n, np.int32)
    for one in range(count):
        members = np.flatnonzero(label == one)
        inside = tied & (label[first] == one)
        for place in members[1:] if len(members) > 1 else ():
            pair = inside & ((first == place) | (second == place))
            strongest = np.flatnonzero(pair)[np.argmax(best[pair])]
            cohesion[place] = max(cohesion[place], float(best[strongest]))
            to_first = np.flatnonzero(inside & (first == members[0]) & (second == place))
            lag[place] = -lags[to_first[0]] if len(to_first) else 0
        if len(members) > 1:
            cohesion[members[0]] = max(cohesion[members[0]], float(best[inside & (first == members[0])].max(initial=0)))
    alone = np.bincount(label, minlength=count)[label] == 1
    job = np.where(alone & (sizes < 2), -1, label).astype(np.int32)
    return job, lag, cohesion, float(chance)


def _same_spectrum(spectra: NDArray[np.complex64], first: NDArray[np.intp], second: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Select pairs whose spectra allow a correlation at all: the Cauchy-Schwarz bound."""
    power = np.abs(spectra)
    power[:, 1:] *= np.sqrt(2)
    length = np.sqrt((power * power).sum(axis=1, keepdims=True))
    power = np.divide(power, length, out=np.zeros_like(power), where=length > 0)
    bound = power @ power.T
    return np.asarray(bound[first, second] > LEAST)


def _over_lags(
    spectra: NDArray[np.complex64], first: NDArray[np.intp], second: NDArray[np.intp], size: int, most: int
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Largest correlation of each pair over lags up to `most` bins, and its lag."""
    best, lags = np.zeros(len(first)), np.zeros(len(first), np.int32)
    at = np.concatenate([np.arange(0, most + 1), np.arange(-most, 0)])
    chunk = max(PAIRS * 256 // size, 64)
    for low in range(0, len(first), chunk):
        rows = slice(low, low + chunk)
        cross = np.fft.irfft(spectra[first[rows]] * np.conj(spectra[second[rows]]), size, axis=1)[:, at]
        place = cross.argmax(axis=1)
        best[rows] = cross[np.arange(len(place)), place]
        lags[rows] = at[place]
    return best, lags


def _chance_level(best: NDArray[np.float64], groups: int) -> float:
    """Correlation of unrelated pairs: with several jobs, most pairs are unrelated."""
    if len(best) < 10 * groups:  # too few pairs for an estimate
        return LEAST
    low = best[best < np.quantile(best, 0.5)]
    middle = float(np.median(low)) if len(low) else 0.0
    spread = 1.4826 * float(np.median(np.abs(low - middle))) if len(low) else 0.0
    return min(middle + CHANCE * max(spread, 0.01), 0.8)
