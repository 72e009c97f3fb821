"""List the data that an exporter lacks for each analysis, and the vendor's configuration line that adds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from prism.exporters import _configuration_lines as lines
from prism.exporters.export_survey import S, Sent

MAX_RECORD_NS = 2 * S  # longer records hide the steps inside them
MAX_CLOCK_ERROR_NS = S // 10  # maximum clock error, as in `prism doctor`
SILENT_AFTER_NS = 60 * S  # seconds without records after which an exporter is listed as silent


@dataclass(frozen=True)
class MissingField:
    """Missing data, the affected `analysis`, and configuration `lines` by vendor."""

    what: str
    analysis: str
    lines: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, object]:
        """Convert to plain values for REST."""
        return {"what": self.what, "analysis": self.analysis, "lines": dict(self.lines)}


def missing_fields(sent: Sent, *, now_ns: int = 0, lost: int = 0) -> list[MissingField]:
    """List the data that one exporter lacks. `lost`: datagrams and records that never arrived; `now_ns`: 0 if not live."""
    found = [
        _silence(sent, now_ns),
        _sampling(sent),
        _timeout(sent),
        _clock(sent),
        _loss(sent, lost),
        _headers(sent),
        _octets(sent),
    ]
    return [one for one in found if one is not None]


def _silence(sent: Sent, now_ns: int) -> MissingField | None:
    if not now_ns or now_ns - sent.last_ns < SILENT_AFTER_NS:
        return None
    seconds = (now_ns - sent.last_ns) // S
    return _lack(f"nothing was received for {seconds:,} s", "all: its ports are not seen", lines.SILENT)


def _sampling(sent: Sent) -> MissingField | None:
    rate = max(sent.rates, key=lambda one: sent.rates[one], default=1)
    if rate == 0:
        analysis = "bandwidth and confidence: octets cannot be scaled up"
        return _lack("the sampling rate is not exported", analysis, lines.NO_SAMPLING_RATE)
    if rate == 1:
        return None
    analysis = "steps, phases and waits: most messages are not seen; mirror the ports (ERSPAN) or sample less"
    return _lack(f"1 in {rate:,} packets is sampled", analysis, lines.SAMPLED)


def _timeout(sent: Sent) -> MissingField | None:
    if sent.timeout_ns < MAX_RECORD_NS:
        return None
    what = f"records last {sent.timeout_ns / S:.3g} s: an active timeout cuts them"
    return _lack(what, "steps: those that are shorter are not seen", lines.LONG_RECORDS)


def _clock(sent: Sent) -> MissingField | None:
    if sent.offset_ns is None or sent.offset_ns > -MAX_CLOCK_ERROR_NS:
        return None
    what = f"its clock is {-sent.offset_ns / S:.3g} s ahead"
    return _lack(what, "waits and stragglers: records of switches cannot be ordered", lines.WRONG_CLOCK)


def _loss(sent: Sent, lost: int) -> MissingField | None:
    if not lost or lost < sent.records / 1000:
        return None
    what = f"{lost:,} datagrams or records were lost on the way"
    return _lack(what, "layout and steps: with 5 % lost some are missed", lines.LOST)


def _headers(sent: Sent) -> MissingField | None:
    if not sent.roce or sent.queues >= sent.roce / 2:
        return None
    analysis = "communicators: streams of one pair cannot be distinguished"
    return _lack("RoCE without queue pairs", analysis, lines.NO_HEADERS)


def _octets(sent: Sent) -> MissingField | None:
    if not sent.records or sent.octets:
        return None
    return _lack("records have no octets", "all: nothing can be weighed", lines.NO_OCTETS)


def _lack(what: str, analysis: str, vendors: Mapping[str, lines.Line]) -> MissingField:
    return MissingField(what, analysis, {vendor: line.text for vendor, line in vendors.items()})
