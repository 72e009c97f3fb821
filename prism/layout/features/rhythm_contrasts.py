"""Compare rhythms of families: gradients are reduced once per step, or once per layer, but not in two rhythms by one group.

Sharded parameters are gathered twice per layer, and their gradients reduced once. So the runs of one data-parallel group differ
by a factor of two. A group with traffic many times per step beside one reduction per step serves another dimension, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from prism.evidence.families import Family
from prism.layout import constants as c
from prism.layout.constants import Kind


def rhythms_differ(found: Sequence[Family], kinds: Sequence[Kind]) -> Iterator[tuple[str, float]]:
    """Yield features of gradients that are reduced too often.

    `other_rhythm`: logarithm of the ratio of the runs of two families, beyond a factor. `every_batch`: 1 if a family moves at
    least once per micro-batch, throughout the step. Micro-batches are counted by the hand-overs of a pipeline.
    """
    reducing = [family for family, kind in zip(found, kinds, strict=True) if kind == "dp"]
    runs = np.log([max(family.rhythm.runs, 1.0) for family in reducing])
    if len(runs) > 1:
        yield "other_rhythm", float(np.clip(np.ptp(runs) - np.log(c.GATHERED), 0.0, c.MOST_RHYTHMS))
    batches = max((f.rhythm.messages for f, kind in zip(found, kinds, strict=True) if kind == "pp"), default=0.0)
    if batches >= c.SEVERAL_BATCHES:
        often = [family for family, log in zip(reducing, runs, strict=True) if log >= np.log(batches) - c.SAME_RATIO]
        yield "every_batch", float(any(family.rhythm.spread > c.THROUGHOUT for family in often))
