"""Traffic that is no training: storage, checkpoints, background, monitoring."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from prism.synth.cluster import Plant
from prism.synth.run import Attempt
from prism.synth.spec import Spec
from prism.synth.traffic import Rows


def disturbances(spec: Spec, attempts: Sequence[Attempt], plant: Plant, rng: np.random.Generator) -> list[Rows]:
    """Records of everything that is no training."""
    return []
