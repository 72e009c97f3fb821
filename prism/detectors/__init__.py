"""Detectors: each examines one job for one kind of fault. To add one, write a function and name it in `DETECTORS`.

They find links, losses, hangs and crashes; `prism.diagnosis` finds slow ranks and hosts. `observations` contains those of
edges, switches and NICs.
"""

from __future__ import annotations

from collections.abc import Callable

from prism.detectors.crash import crash
from prism.detectors.hang import hang
from prism.detectors.slow_link import lossy_link, slow_link
from prism.detectors.switch_queues import queued_link
from prism.graph.job_view import View
from prism.model import Finding

Detector = Callable[[View], list[Finding]]

DETECTORS: tuple[Detector, ...] = (
    crash,
    hang,



)
