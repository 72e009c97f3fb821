"""Convert counters to octets per bin on a common time grid: undo wraps and restarts, and interpolate readings."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prism.counters.counter_samples import Samples

WRAP_32 = 1 << 32
BINS = 20_000  # maximum bins of a grid; longer recordings have longer bins
FEWEST = 16  # minimum samples of a port


@dataclass(frozen=True, eq=False)
class Rates:
    """Octets per bin: float32[ports, bins], both directions together if both are known. `unknown` bins have no reading."""

    ports: tuple[tuple[str, str], ...]
    start_ns: int
    bin_ns: int
    octets: NDArray[np.float32]
    ingress: NDArray[np.float64]  # share of octets that entered the port
    wraps: int = 0
    restarts: int = 0

    @property
    def seconds(self) -> float:
        """Duration of a bin, s."""
        return self.bin_ns / 1e9

    def part(self, low: int, high: int) -> Rates:
        """Select a range of bins."""
        return Rates(self.ports, self.start_ns + low * self.bin_ns, self.bin_ns, self.octets[:, low:high], self.ingress)


def rates(samples: Samples, *, bin_ns: int = 0) -> Rates:
    """Compute one row for each port with enough samples. A bin has the median distance of samples, or `bin_ns`."""
    begins = np.searchsorted(samples.port, np.arange(len(samples.ports) + 1))
    counts = np.diff(begins)
    kept = np.flatnonzero(counts >= FEWEST)
    if not len(kept):
        return Rates((), 0, bin_ns or 1, np.zeros((0, 0), np.float32), np.zeros(0))
    gaps = [np.median(np.diff(samples.time_ns[begins[i] : begins[i + 1]])) for i in kept[:: max(len(kept) // 256, 1)]]
    starts, stops = samples.time_ns[begins[kept]], samples.time_ns[begins[kept + 1] - 1]
    start, stop = int(np.median(starts)), int(np.median(stops))
    width = max(bin_ns or int(np.median(gaps)), (stop - start) // BINS, 1)
    edges = np.arange(start, stop + 1, width)
    out = np.zeros((len(kept), max(len(edges) - 1, 0)), np.float32)
    share = np.zeros(len(kept))
    wraps = restarts = 0
    for row, i in enumerate(kept.tolist()):
        own = slice(begins[i], begins[i + 1])
        sums = []
        for column in (samples.in_octets[own], samples.out_octets[own]):
            time, grown, wrapped, restarted = _grown(samples.time_ns[own], column)
            wraps, restarts = wraps + wrapped, restarts + restarted
            sums.append(np.diff(np.interp(edges, time, grown)) if len(time) > 1 else np.zeros(out.shape[1]))
        out[row] = sums[0] + sums[1]
        share[row] = sums[0].sum() / max(float(sums[0].sum() + sums[1].sum()), 1.0)
    return Rates(tuple(samples.ports[i] for i in kept), start, width, out, share, wraps, restarts)


def _grown(time: NDArray[np.int64], counter: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.float64], int, int]:
    """Times, octets since the first reading, 32-bit wraps, and restarts of a counter, after which it counts from 0."""
    known = counter >= 0
    time, counter = time[known], counter[known]
    if len(time) < 2:
        return time, counter.astype(np.float64), 0, 0
    step = np.diff(counter)
    back = step < 0
    wrapped = back & (counter[:-1] < WRAP_32) & (counter[:-1] > WRAP_32 // 2) & (step + WRAP_32 < WRAP_32 // 2)
    restarted = back & ~wrapped
    step = np.where(wrapped, step + WRAP_32, np.where(restarted, counter[1:], step))
    return time, np.concatenate([[0.0], np.cumsum(step.astype(np.float64))]), int(wrapped.sum()), int(restarted.sum())
