"""Files of exports: captures of NetFlow, IPFIX or sFlow datagrams, and IPFIX files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from collectors import exported, ipfixfile, ledger, pcap
from collectors.netflow import NetflowDecoder
from collectors.packet import NOT_IP, DecodeError
from collectors.record import Flows, Transits, concatenated
from collectors.sflow import SflowDecoder
from collectors.testimony import Witness, together

SOME = 1_000  # frames that tell a capture of exports
LEFT_OUT = (f" {ledger.ERROR}", f" {ledger.DROPPED}", f" {ledger.WAITING}", f" {ledger.LOST}")


def is_capture_of_exports(path: str | Path) -> bool:
    """Whether most IP packets of a capture's first frames are datagrams of exports; False where it cannot be read."""
    try:
        with pcap.read(path, batch_octets=1 << 18) as capture:
            batch = next(iter(capture), None)
            if batch is None:
                return False
            rows = slice(0, SOME)
            some = type(batch)(
                batch.data,
                batch.link_type[rows],
                batch.time_ns[rows],
                batch.offset[rows],
                batch.captured[rows],
                batch.wire[rows],
            )
            others: Counter[str] = Counter()
            exports = len(exported.exports(some, others))
            return 2 * exports > len(some) - others[NOT_IP]
    except DecodeError:
        return False


class Exports:
    """A capture of export datagrams; to iterate over once. The switch of a record is the address that exported it.

    `skipped` counts frames that are no exports, and, of datagrams and records, what could not be decoded, is no flow, still
    waits for its template at the end, or was lost before it came here (told by gaps in sequence numbers); `warnings` fills as
    damage is met, `transits` with what switches tell of delays and losses. Raises DecodeError where there is no capture.
    """

    def __init__(self, path: str | Path) -> None:
        self.skipped: Counter[str] = Counter()
        self.warnings: tuple[str, ...] = ()
        self.transits = Transits.empty()
        self._path = path

    def __iter__(self) -> Iterator[Flows]:
        netflow, sflow, witness = NetflowDecoder(), SflowDecoder(), Witness()
        frames, told = Counter[str](), list[Transits]()
        with pcap.read(self._path) as capture:
            for batch in capture:
                flow_exports, samples = exported.split(exported.exports(batch, frames))
                if len(flow_exports):
                    yield netflow.decode(flow_exports)
                if len(samples):
                    yield sflow.decode(samples)
                    told.append(witness.transits(sflow.take_evidence()))
            self.warnings = tuple(capture.warnings)
        self.transits = together(told)
        self.skipped.update(frames)
        self.skipped.update(left_out(netflow.tally + sflow.tally))

    def flows(self) -> Flows:
        """All records, by start."""
        return by_start(list(self))


class IpfixFile:
    """An IPFIX file (RFC 5655); to iterate over once. `exporter` is the switch of its records; `skipped` is as of `Exports`.

    Raises DecodeError where it is none.
    """

    def __init__(self, path: str | Path, exporter: str) -> None:
        self.skipped: Counter[str] = Counter()
        self.warnings: tuple[str, ...] = ()
        self.transits = Transits.empty()
        self._path, self._exporter = path, exporter

    def __iter__(self) -> Iterator[Flows]:
        yield self.flows()

    def flows(self) -> Flows:
        """All records, by start."""
        flows, tally = ipfixfile.read(self._path, exporter=self._exporter)
        self.skipped.update(left_out(tally))
        self.warnings = tuple(f"{self._path}: {what}" for what in ("file cut off", "file damaged") if tally[what])
        return flows


def left_out(tally: Counter[str]) -> dict[str, int]:
    """Of the counters of a decoder of exports, those of what became no flow record."""
    return {name: n for name, n in tally.items() if n and any(word in name for word in LEFT_OUT)}


def by_start(parts: list[Flows]) -> Flows:
    """The records of all parts, in order of start."""
    whole = concatenated(parts or [Flows.build({"start_ns": []}, endpoints=())])
    return whole.take(np.argsort(whole.start_ns, kind="stable"))
