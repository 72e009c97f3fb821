"""Check names of switches before they are written to a file."""

from __future__ import annotations

from collectors.columns.record import Flows


def check_names(flows: Flows) -> None:
    """Raise ValueError for a switch name that could not be read back."""
    for switch in {*flows.exporters, *(switch for way in flows.paths for switch in way)}:
        if "\n" in switch or "\r" in switch:
            raise ValueError(f"the name of a switch must not contain a line end: {switch!r}")
    if any("|" in switch for way in flows.paths for switch in way):
        raise ValueError("the name of a switch must not contain |")
