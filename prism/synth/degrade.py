"""What collection loses."""

from __future__ import annotations

import numpy as np

from collectors.record import Flows, Transits
from prism.synth.spec import Degradation


def degraded(flows: Flows, transits: Transits, asked: Degradation, rng: np.random.Generator) -> tuple[Flows, Transits]:
    """The records as an imperfect collection would give them."""
    return flows, transits
