"""Detectors: each examines one job for one kind of fault. To add one, write a function and name it in `DETECTORS`.

`early_slow_rank` and `early_late_rank` report a rank before its step is over. `peers` compares ranks with their peers.
`observations` contains observations of edges, switches and NICs.
"""

from __future__ import annotations

from collections.abc import Callable

from prism.detectors.crash import crash
from prism.detectors.early_late_rank import early_late_rank
from prism.detectors.early_slow_rank import early_slow_rank
from prism.detectors.hang import hang
from prism.detectors.late_rank import late_rank
from prism.detectors.slow_link import lossy_link, slow_link
from prism.detectors.slow_rank import slow_rank
from prism.detectors.slow_step import slow_group, slow_step
from prism.detectors.straggler import straggler
from prism.detectors.switch_queues import queued_link
from prism.graph.job_view import View
from prism.model import Finding

Detector = Callable[[View], list[Finding]]

DETECTORS: tuple[Detector, ...] = (
    crash,
    hang,
    slow_link,
    lossy_link,
    queued_link,
    slow_rank,
    late_rank,
    straggler,
    early_slow_rank,
    early_late_rank,
    slow_group,
    slow_step,
)
