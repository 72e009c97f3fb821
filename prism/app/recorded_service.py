"""Serve recordings as a service with a single board."""

from __future__ import annotations

from collections.abc import Sequence

from collectors.columns.record import Flows
from collectors.formats.column_mapping import Columns
from collectors.formats.file_types import read_columns
from prism.analysis import diagnose
from prism.inventory.bookings import Booking
from prism.inventory.operator_hints import Hints
from prism.model import Diagnosis
from prism.recordings.booking_division import diagnosed
from prism.recordings.file_analysis import Progress, read
from prism.service.service_settings import Service
from prism.topology import Topology
from prism.tracking.board import Board, Boards, board_of
from prism.tracking.flow_sources import Memory


def replayed(
    inputs: Sequence[tuple[str, str]],
    topology: Topology | None,
    progress: Progress,
    columns: Columns | None = None,
    *,
    hints: Hints | None = None,
    bookings: Sequence[Booking] = (),
) -> tuple[Board, Flows]:
    """Replay files, each with the name of its switch, and return board and records. Raises as `file_analysis.replay`."""
    flows, transits, source = read(inputs, topology, progress, columns)

    def on_progress(done: int, total: int) -> None:
        progress("jobs", done, total)

    def diagnosis(own: Flows) -> Diagnosis:
        return diagnose(own, source, topology=topology, transits=transits, progress=on_progress, hints=hints)

    return board_of(diagnosed(flows, bookings, topology, diagnosis), topology, bookings), flows


def opened(
    inputs: Sequence[tuple[str, str]],
    topology: Topology | None,
    progress: Progress,
    columns: str | None = None,
    *,
    hints: Hints | None = None,
    bookings: Sequence[Booking] = (),
) -> Service:
    """Replay files and return a service; `columns` names a file. Raises as `replayed`."""
    column_mapping = read_columns(columns) if columns else None
    board, flows = replayed(inputs, topology, progress, column_mapping, hints=hints, bookings=bookings)
    return Service(Boards(board), Memory(flows), "replay")
