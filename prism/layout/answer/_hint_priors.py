"""Compute a prior over layouts from the operator's hints: log-odds added to those of the traffic."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import log2

from prism.inventory.operator_hints import Hints
from prism.layout import constants as c


def prior(hints: Hints, layout: Mapping[str, int], endpoints: Collection[str]) -> float:
    """Compute the log-odds of a layout (sizes by dimension: dp, pp, tp, ep, cp) of the job of `endpoints`; 0 without hints.

    The penalty grows with the distance from the hinted size, up to twice: TP 4 instead of 8 is less wrong than TP 1.
    """
    own = hints.job(endpoints)
    sizes = own.sizes if own is not None else {}
    out = -sum(c.HINTED_SIZE * _missed(layout.get(kind, 1), size) for kind, size in sizes.items())
    tensor = layout.get("tp", 1)
    if hints.tp and "tp" not in sizes:
        out -= c.HINTED_TENSOR * min(_missed(tensor, size) for size in hints.tp)
    if hints.gpus_per_host and "tp" not in sizes:
        out -= c.PART_OF_HOST * (tensor > 1 and hints.gpus_per_host % tensor > 0 and tensor % hints.gpus_per_host > 0)
    return out


def _missed(seen: int, size: int) -> float:
    return 0.0 if seen == size else min(1 + abs(log2(seen / size)) / 4, 2.0)
