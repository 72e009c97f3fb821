"""Read files of exports: captures of NetFlow, IPFIX or sFlow datagrams, and IPFIX files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from collectors.captures import pcap
from collectors.columns.record import Flows, Transits, concatenated
from collectors.exports import counter_names
from collectors.exports.evidence_store import EvidenceConverter, merge_transits
from collectors.exports.netflow.netflow import NetflowDecoder
from collectors.exports.records.running_totals import MOST_FLOWS
from collectors.exports.records.time_formats import CORRECTED
from collectors.exports.sflow.sflow import SflowDecoder
from collectors.packets.plain_decoder import DecodeError
from collectors.recorded_exports import captured_exports, ipfix_files

SAMPLED_FRAMES = 1_000  # frames that decide whether a capture contains exports
LEFT_OUT = {  # counters of `counter_names` that a report shows, and their names there
    f" {counter_names.ERROR}": " not decoded: ",
    f" {counter_names.DROPPED}": " without a flow: ",
    f" {counter_names.WAITING}": " not decoded: template is not in the file",
    f" {counter_names.LOST}": " missing by sequence number",
}


def is_capture_of_exports(path: str | Path) -> bool:
    """Check whether most IP packets of a capture's first frames are exports; False if it cannot be read."""
    try:
        with pcap.read(path, batch_octets=1 << 18) as capture:
            batch = next(iter(capture), None)
            if batch is None:
                return False
            rows = slice(0, SAMPLED_FRAMES)
            some = type(batch)(
                batch.data,
                batch.link_type[rows],
                batch.time_ns[rows],
                batch.offset[rows],
                batch.captured[rows],
                batch.wire[rows],
            )
            extractor = captured_exports.Extractor()
            extractor.exports(some)
            return extractor.are_mostly_exports(len(some))
    except DecodeError:
        return False


class Exports:
    """A capture of export datagrams, to iterate over once. The switch of a record is the address that exported it.

    `skipped` counts frames that are no exports, and datagrams and records that could not be decoded, are no flows, lack their
    template, or are missing by sequence number. `warnings` has a line for each damage and each unusual way of reading;
    `transits` has the delays and losses reported by switches. Raises DecodeError for a file that is no capture.
    """

    def __init__(self, path: str | Path) -> None:
        self.skipped: Counter[str] = Counter()
        self.warnings: tuple[str, ...] = ()
        self.transits = Transits.empty()
        self._path = path

    def __iter__(self) -> Iterator[Flows]:
        netflow, sflow, witness = NetflowDecoder(), SflowDecoder(), EvidenceConverter()
        extractor, told = captured_exports.Extractor(), list[Transits]()
        with pcap.read(self._path) as capture:
            for batch in capture:
                flow_exports, samples = captured_exports.split(extractor.exports(batch))
                if len(flow_exports):
                    yield netflow.decode(flow_exports)
                if len(samples):
                    yield sflow.decode(samples)
                    told.append(witness.transits(sflow.take_evidence()))
            damage = capture.warnings
            frames = capture.skipped
        extractor.end()
        notes = [*carrier_notes(extractor), *decoder_notes(netflow.exporters, netflow.tally)]
        self.warnings = (*damage, *(f"{self._path}: {note}" for note in notes))
        self.skipped.update(frames)
        self.transits = merge_transits(told)
        self.skipped.update(extractor.skipped)
        self.skipped.update(skipped_counts(netflow.tally + sflow.tally))

    def flows(self) -> Flows:
        """Return all records, by start."""
        return by_start(list(self))


class IpfixFile:
    """An IPFIX file (RFC 5655), to iterate over once. `exporter` is the switch of its records; `skipped` is as in `Exports`.

    Raises DecodeError for a file of another kind.
    """

    def __init__(self, path: str | Path, exporter: str) -> None:
        self.skipped: Counter[str] = Counter()
        self.warnings: tuple[str, ...] = ()
        self.transits = Transits.empty()
        self._path, self._exporter = path, exporter

    def __iter__(self) -> Iterator[Flows]:
        yield self.flows()

    def flows(self) -> Flows:
        """Return all records, by start."""
        flows, tally, warnings = ipfix_files.read(self._path, exporter=self._exporter)
        self.skipped.update(skipped_counts(tally))
        notes = decoder_notes({self._exporter or Path(self._path).name: tally}, tally)
        self.warnings = (*warnings, *(f"{self._path}: {note}" for note in notes))
        return flows


def carrier_notes(extractor: captured_exports.Extractor) -> Iterator[str]:
    """Yield notes for the user about the frames that carried exports."""
    for (protocol, port), n in sorted(extractor.elsewhere.items()):
        where = f"UDP port {port}" if port else "many other UDP ports"
        usual = ", ".join(map(str, captured_exports.PORTS))
        yield f"datagrams of {protocol} to {where} ({n:,}): recognised by their content; the usual ports are {usual}"
    if extractor.joined:
        yield f"datagrams reassembled from IP fragments ({extractor.joined:,}, of {extractor.fragments:,} fragments)"


def decoder_notes(exporters: Mapping[str, Counter[str]], total: Counter[str]) -> Iterator[str]:
    """Yield notes for the user about the decoding of records, from the tally of each exporter and of all exporters."""
    for name, tally in sorted(exporters.items()):
        if n := tally[counter_names.UNRATED]:
            hint = "announce the sampling rate in options records"
            yield f"exporter {name}: sampling rate unknown ({n:,} records): it samples, but announces no rate for them; {hint}"
        for corrected, n in tally.items():
            if corrected.startswith(CORRECTED) and n:
                yield f"exporter {name}: {corrected} ({n:,}), recognised over many records"
        if n := tally[counter_names.TOTALS_RESTARTED]:
            yield f"exporter {name}: running totals restarted from 0 ({n:,} times)"
    if n := total[counter_names.FORGOTTEN_TOTALS]:
        yield f"running totals forgotten ({n:,} flows, more than {MOST_FLOWS:,} at once): their next totals count in full"


def skipped_counts(tally: Counter[str]) -> dict[str, int]:
    """Select the counters of input without a flow record, under the names of the report."""
    return {name.replace(word, shown): n for name, n in tally.items() for word, shown in LEFT_OUT.items() if n and word in name}


def by_start(parts: list[Flows]) -> Flows:
    """Merge the records of all parts, in order of start."""
    whole = concatenated(parts or [Flows.build({"start_ns": []}, endpoints=())])
    return whole.take(np.argsort(whole.start_ns, kind="stable"))
