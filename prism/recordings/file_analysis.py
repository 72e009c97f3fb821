"""Captures and dumps of the past: files in, a diagnosis out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from collectors.aggregation import capture_reader
from collectors.aggregation.batch_decoder import Decoder, Undecoded, Unread
from collectors.aggregation.flow_table import flows_of
from collectors.aggregation.flow_table import skipped as skipped_packets
from collectors.captures import pcap
from collectors.columns.record import Flows, Transits, concatenated
from collectors.exports.evidence_store import merge_transits
from collectors.formats import file_types as files
from collectors.formats.column_mapping import Columns
from collectors.formats.file_types import Kind
from prism.analysis import diagnose
from prism.inventory.bookings import Booking
from prism.inventory.operator_hints import Hints
from prism.model import Diagnosis, Source
from prism.recordings.booking_division import diagnosed
from prism.topology import Topology, is_topology
from prism.tracking.flow_sources import Memory
from prism.workers.distributed_analysis import Kept, diagnose_over
from prism.workers.executors import workers, worth

HEAD = 1 << 10  # octets of a file that show a topology
Progress = Callable[[str, int, int], None]  # stage, done, total; a total of 0 is unknown


def replay(
    inputs: Sequence[tuple[str, str]],
    topology: Topology | None = None,
    progress: Progress | None = None,
    columns: Columns | None = None,
    *,
    hints: Hints | None = None,
    bookings: Sequence[Booking] = (),
    kept: Callable[[Flows], Flows] = lambda flows: flows,
    processes: int | None = None,
    scheduler: str = "",
    store: str = "",
) -> Diagnosis:
    """Diagnose files, each with the name of the switch that saw it; all of one run. `columns`: as in
    `collectors.formats.text_files`. `kept` is given the flow records, and gives those that are looked at. `hints` are what the
    operator knows, `bookings` what schedulers say of jobs.

    In so many `processes` (None: as many as pay), or by the workers of a Dask `scheduler`. A server that is the `store` of the
    records sums them up by pair, and each worker reads those of its job there. Raises DecodeError (a ValueError) with the
    file's name where one cannot be read, and as `executors.workers` and `distributed_analysis.Kept`.
    """
    tell = progress or (lambda _stage, _done, _total: None)
    flows, transits, source = read(inputs, topology, tell, columns)
    flows = kept(flows)

    def jobs(done: int, total: int) -> None:
        tell("jobs", done, total)

    with workers(worth(len(flows)) if processes is None else processes, scheduler) as executor:
        given: dict[str, Any] = {"topology": topology, "transits": transits, "hints": hints, "progress": jobs}
        if executor is None:
            return diagnosed(flows, bookings, topology, lambda own: diagnose(own, source, **given))
        if bookings or not (scheduler and "://" in store and len(flows)):
            over = partial(diagnose_over, executor)
            return diagnosed(flows, bookings, topology, lambda own: over(Memory(own), source, **given))
        away, (first, last) = Kept(store), flows.window
        return diagnose_over(executor, away, source, pairs=away.pairs(first, last + 1), **given)


def _check_records(path: str, kind: Kind) -> None:
    """Raises ValueError where a file is a topology and neither a capture nor records."""
    if kind in (Kind.text, Kind.capture) and Path(path).is_file():
        with open(path, "rb") as file:
            head = file.read(HEAD).decode("utf-8", "replace")
        if is_topology(head):
            raise ValueError(
                f"{path}: is a topology, neither a capture nor flow records; "
                "give it as the topology (--topology FILE, or the form field 'topology')"
            )


def read(
    inputs: Sequence[tuple[str, str]],
    topology: Topology | None,
    tell: Progress,
    columns: Columns | None = None,
    *,
    skips: Callable[[str], None] = lambda _line: None,
) -> tuple[Flows, Transits, Source]:
    """The flow records of files, each seen once, and delays and losses in switches and between. Raises as `replay`.

    `skips` is given a line for each file of records of which some were left out.
    """
    kinds = [(name, path, files.recognise_file(path)) for name, path in inputs]
    for _, path, kind in kinds:
        _check_records(path, kind)
    captures = {name: pcap.read(path) for name, path, kind in kinds if kind is Kind.capture}
    tables = [(path, name, kind) for name, path, kind in kinds if kind is not Kind.capture]
    dumps = [(path, files.open_records(path, columns, exporter=name, kind_=kind)) for path, name, kind in tables]
    decoder = Decoder()
    home = {address: place.leaf for address, place in topology.endpoints.items() if place.leaf} if topology else {}
    readers = {name: _packets(capture, decoder, captures, tell) for name, capture in captures.items()}
    flows, transits, skipped = flows_of(readers, decoder.endpoints, home=home) if captures else _nothing()
    seen = sum(capture.packets for capture in captures.values())
    skipped = skipped_packets(seen, decoder.skipped, skipped)
    skipped += sum((capture.skipped for capture in captures.values()), Counter[str]())
    nothing = [
        f"{capture.name}: the capture holds no packets"
        for capture in captures.values()
        if not capture.packets and not capture.warnings
    ]
    for done, (path, dump) in enumerate(dumps):
        tell("dumps", done, len(dumps))
        own = dump.flows()
        nothing += [] if len(own) else [f"{path}: the file gives no flow records"]
        flows = concatenated([flows, own])
        transits = merge_transits([transits, dump.transits])
        skipped += dump.skipped
        if dump.skipped:
            skips(f"{path}: skipped: {', '.join(f'{reason} ({n:,})' for reason, n in sorted(dump.skipped.items()))}")
    source = Source(
        files=tuple(path for _, path in inputs),
        packets=seen,
        flows=len(flows),
        skipped={reason: n for reason, n in sorted(skipped.items()) if n},
        start_ns=int(flows.start_ns.min()) if len(flows) else 0,
        end_ns=int(flows.end_ns.max()) if len(flows) else 0,
        warnings=tuple(
            [warning for capture in captures.values() for warning in capture.warnings]
            + [warning for _, dump in dumps for warning in dump.warnings]
            + nothing
        ),
    )
    return flows, transits, source


def _packets(
    capture: pcap.Capture, decoder: Decoder, captures: Mapping[str, pcap.Capture], tell: Progress
) -> Iterator[Undecoded | Unread]:
    for frames in capture_reader.read(capture, decoder):
        yield frames
        tell("packets", sum(c.packets for c in captures.values()), 0)


def _nothing() -> tuple[Flows, Transits, Counter[str]]:
    return Flows.build({"start_ns": []}, endpoints=()), Transits.empty(), Counter()
