"""Convert exporters and interfaces to plain values for REST."""

from __future__ import annotations

from prism.exporters._missing_fields import missing_fields
from prism.exporters.export_survey import Sent
from prism.exporters.exporter_silence import ExporterReception
from prism.exporters.live_survey import Port
from prism.views.board_views import Json, finite, ns

MAX_PORTS = 512  # interfaces listed per exporter


def exporter(name: str, sent: Sent | None, ports: list[Port], reception: ExporterReception | None, now_ns: int) -> Json:
    """Convert an exporter to plain values."""
    own, lost = sent or Sent(last_ns=reception.at_ns if reception else 0), reception.lost if reception else 0
    return {
        "name": name or "(no name)",
        "records": own.records,
        "records_per_s": round(own.rate, 3) if own.records else 0.0,
        "octets": own.octets,
        "pairs": own.pairs,
        "sampling": max(own.rates, key=lambda rate: own.rates[rate], default=1),
        "timeout_s": finite(own.timeout_ns / 1e9) if own.timeout_ns else None,
        "offset_s": finite(own.offset_ns / 1e9) if own.offset_ns is not None else None,
        "lost": lost,
        "last_ns": ns(own.last_ns),
        "lacks": [one.to_json() for one in missing_fields(own, now_ns=now_ns, lost=lost)],
        "interfaces": [interface(port) for port in ports[:MAX_PORTS]],
    }


def interface(port: Port) -> Json:
    """Convert an interface to plain values."""
    rates = {f"{way}_gbit_s": _finite(getattr(port, f"{way}_gbit_s")) for way in ("in", "out")}
    bad = {"discards": port.discards, "errors": port.errors, "seen_ns": ns(port.at_ns)}
    return {"interface": port.interface, "speed_gbit_s": _finite(port.speed / 1e9), "up": port.up, **rates, **bad}


def _finite(number: float | None) -> float | None:
    return None if number is None else finite(number)
