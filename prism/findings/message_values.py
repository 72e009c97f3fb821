"""Write the parts of a finding's message: a measured value with its unit, the usual value, and their ratio."""

from __future__ import annotations

import math

import numpy as np

from prism.graph.job_view import View


def duration(ns: float) -> str:
    """Write a duration with three digits: 0.52 ms, 58.8 ms, 1.48 s."""
    if not math.isfinite(ns):
        return "an unknown time"
    ms = ns / 1e6
    for limit, text in ((0.9995, f"{ms:.2f} ms"), (99.95, f"{ms:.1f} ms"), (999.5, f"{ms:.0f} ms")):
        if abs(ms) < limit:
            return text
    return f"{ms / 1000:.2f} s" if abs(ms) < 100_000 else f"{ms / 1000:.0f} s"


def rate(bits_per_s: float) -> str:
    """Write a rate with three digits and a suitable unit: 2.31 Gbit/s."""
    for factor, unit in ((1e9, "Gbit/s"), (1e6, "Mbit/s")):
        if bits_per_s >= factor:
            return f"{bits_per_s / factor:.3g} {unit}"
    return f"{bits_per_s / 1e3:.3g} kbit/s"


def percent(share: float) -> str:
    """Write a share 0 … 1 in percent, with two digits if it is small: 0.021%."""
    return f"{share:.0%}" if share >= 0.1 or share <= 0 else f"{float(f'{100 * share:.2g}'):g}%"


def beside(now: str, usual: str, ratio: float, *, than: str = "usually") -> str:
    """Write a value, the usual one and their ratio: "58.8 ms, usually 37.8 ms (1.56×)"."""
    return f"{now}, {than} {usual} ({ratio:.2f}×)" if ratio < 10 else f"{now}, {than} {usual} ({ratio:.0f}×)"


def step_range(view: View, start: int, stop: int) -> str:
    """Write the numbers in the job of steps `start` to before `stop` of a window."""
    start, stop = view.numbers(start, stop)
    if stop - start == 1:
        return f"step {start}"
    return f"steps {start} and {stop - 1}" if stop - start == 2 else f"steps {start} to {stop - 1}"


def steps_take(view: View, start: int, stop: int, ratio: float) -> str:
    """Write how long steps `start` to before `stop` take, and how long without a cause that slows them by `ratio`.

    As in "steps 8 to 17 take 1.87 s, without it 1.48 s (1.26×)".
    """
    verb = "takes" if stop - start == 1 else "take"
    took = view.durations[start:stop]
    if not np.isfinite(took).any():
        return f"{step_range(view, start, stop)} {verb} an unknown time"
    now = float(np.nanmedian(took))
    return f"{step_range(view, start, stop)} {verb} {beside(duration(now), duration(now / ratio), ratio, than='without it')}"
