"""Convert captures, exports and dumps of every known format to one dump of flow records."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from collectors.aggregation import capture_reader, flow_table
from collectors.aggregation.batch_decoder import Decoder
from collectors.aggregation.flow_table import flows_of
from collectors.captures import pcap
from collectors.columns.record import Flows
from collectors.formats import file_types
from collectors.formats.column_mapping import Columns
from collectors.formats.file_types import Kind
from collectors.writers import record_files


class Converted(NamedTuple):
    """Result of a conversion: packets read, records written, counts of skipped packets and rows by reason, warnings."""

    packets: int
    written: int
    skipped: Mapping[str, int]
    warnings: tuple[str, ...]


def convert(files: Sequence[tuple[str, str]], out: str | Path, columns: Columns | None = None) -> Converted:
    """Convert files, each with the name of its switch. Raises DecodeError with the file's name.

    Captures are read together, so that a packet that several switches saw counts once; dumps are read one after another, in
    pieces, and their records keep their order.
    """
    kinds = [(name, path, file_types.recognise_file(path)) for name, path in files]
    captures = {name: pcap.read(path) for name, path, kind in kinds if kind is Kind.capture}
    skipped: Counter[str] = Counter()
    warnings: list[str] = []
    with record_files.writer(out) as file:
        if captures:
            file.add(_of_captures(captures, skipped))
        for name, path, kind in kinds:
            if kind is not Kind.capture:
                records = file_types.open_records(path, columns, exporter=name, kind_=kind)
                for flows in records:
                    file.add(flows)
                skipped.update(records.skipped)
                warnings += records.warnings
        count = file.count
    packets = sum(capture.packets for capture in captures.values())
    warnings += (warning for capture in captures.values() for warning in capture.warnings)
    return Converted(packets, count, {reason: n for reason, n in skipped.items() if n}, tuple(warnings))


def _of_captures(captures: Mapping[str, pcap.Capture], skipped: Counter[str]) -> Flows:
    decoder = Decoder()
    readers = {switch: capture_reader.read(capture, decoder) for switch, capture in captures.items()}
    records, _, tally = flows_of(readers, decoder.endpoints)
    packets = sum(capture.packets for capture in captures.values())
    skipped.update(flow_table.skipped(packets, decoder.skipped, tally))
    for capture in captures.values():
        skipped.update(capture.skipped)
    return records
