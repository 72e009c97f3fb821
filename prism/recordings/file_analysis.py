"""Analyse captures and dumps: files in, a diagnosis out."""

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
from prism.workers.distributed_analysis import StoredSource, diagnose_over
from prism.workers.executors import process_count, workers

HEAD = 1 << 10  # first octets of a file, which show whether it is a topology
Progress = Callable[[str, int, int], None]  # stage, done, total; a total of 0 is unknown


def replay(
    inputs: Sequence[tuple[str, str]],
    topology: Topology | None = None,
    progress: Progress | None = None,
    columns: Columns | None = None,
    *,
    hints: Hints | None = None,
    bookings: Sequence[Booking] = (),
    keep: Callable[[Flows], Flows] = lambda flows: flows,
    processes: int | None = None,
    scheduler: str = "",
    store: str = "",
) -> Diagnosis:
    """Diagnose files of one run.

    Parameters
    ----------
    inputs : sequence of (str, str)
        Name of the switch, and path, of each file.
    topology : Topology, optional
        Placement of the endpoints.
    progress : callable, optional
        Receives stage, done and total.
    columns : Columns, optional
        Mapping of columns, see `collectors.formats.text_files`.
    hints : Hints, optional
        What the operator knows.
    bookings : sequence of Booking
        Jobs from schedulers.
    keep : callable
        Receives the flow records and returns those to analyse.
    processes : int, optional
        Number of processes; None: as many as pay off.
    scheduler : str
        Address of a Dask scheduler whose workers analyse.
    store : str
        Server with the records: it sums them by pair, and each worker reads the records of its job there.

    Raises
    ------
    DecodeError
        A ValueError with the file's name if it cannot be read. Also as `executors.workers` and `StoredSource`.
    """
    report_progress = progress or (lambda _stage, _done, _total: None)
    flows, transits, source = read(inputs, topology, report_progress, columns)
    flows = keep(flows)

    def jobs(done: int, total: int) -> None:
        report_progress("jobs", done, total)

    with workers(process_count(len(flows)) if processes is None else processes, scheduler) as executor:
        given: dict[str, Any] = {"topology": topology, "transits": transits, "hints": hints, "progress": jobs}
        if executor is None:
            return diagnosed(flows, bookings, topology, lambda own: diagnose(own, source, **given))
        if bookings or not (scheduler and "://" in store and len(flows)):
            over = partial(diagnose_over, executor)
            return diagnosed(flows, bookings, topology, lambda own: over(Memory(own), source, **given))
        away, (first, last) = StoredSource(store), flows.window
        return diagnose_over(executor, away, source, pairs=away.pairs(first, last + 1), **given)


def _check_records(path: str, kind: Kind) -> None:
    """Check that a file is a capture or records and not a topology. Raises ValueError."""
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
    report_progress: Progress,
    columns: Columns | None = None,
    *,
    skips: Callable[[str], None] = lambda _line: None,
) -> tuple[Flows, Transits, Source]:
    """Read the flow records of files, each once, and delays and losses of switches and links. Raises as `replay`.

    `skips` receives a message for each file of which records were left out.
    """
    kinds = [(name, path, files.recognise_file(path)) for name, path in inputs]
    for _, path, kind in kinds:
        _check_records(path, kind)
    captures = {name: pcap.read(path) for name, path, kind in kinds if kind is Kind.capture}
    tables = [(path, name, kind) for name, path, kind in kinds if kind is not Kind.capture]
    dumps = [(path, files.open_records(path, columns, exporter=name, kind_=kind)) for path, name, kind in tables]
    decoder = Decoder()
    home = {address: place.leaf for address, place in topology.endpoints.items() if place.leaf} if topology else {}
    readers = {name: _packets(capture, decoder, captures, report_progress) for name, capture in captures.items()}
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
        report_progress("dumps", done, len(dumps))
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
    capture: pcap.Capture, decoder: Decoder, captures: Mapping[str, pcap.Capture], report_progress: Progress
) -> Iterator[Undecoded | Unread]:
    for frames in capture_reader.read(capture, decoder):
        yield frames
        report_progress("packets", sum(c.packets for c in captures.values()), 0)


def _nothing() -> tuple[Flows, Transits, Counter[str]]:
    return Flows.build({"start_ns": []}, endpoints=()), Transits.empty(), Counter()
