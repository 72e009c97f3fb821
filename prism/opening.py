"""Files of the past as a service that shows one board."""

from __future__ import annotations

from collections.abc import Sequence

from collectors.inputs import read_columns
from prism.board import Boards, told
from prism.diagnose import diagnose
from prism.records import Memory
from prism.replay import Progress, read
from prism.service import Service
from prism.topology import Topology


def opened(
    inputs: Sequence[tuple[str, str]], topology: Topology | None, progress: Progress, columns: str | None = None
) -> Service:
    """A service that shows a replay of files, each with the name of the switch that saw it. Raises as `replay.replay`."""
    asked = read_columns(columns) if columns else None
    flows, transits, source = read(inputs, topology, progress, asked)
    found = diagnose(
        flows, source, topology=topology, transits=transits, progress=lambda done, total: progress("jobs", done, total)
    )
    return Service(Boards(told(found, topology)), Memory(flows), "replay")
