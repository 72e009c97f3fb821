"""Write simulated runs as folders like real captures: flows.csv.gz or a capture per switch, topology.json, truth.json."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from collectors.captures import pcap
from collectors.columns.partial_records import Table
from collectors.columns.record import Transits
from collectors.writers.record_files import Writer
from prism.synth.capture.collection_losses import Collection
from prism.synth.capture.mirror_captures import Mirrors
from prism.synth.capture.packet_frames import SNAPLEN
from prism.synth.capture.packet_streams import Packets
from prism.synth.capture.packet_trains import make_trains
from prism.synth.capture.transfer_records import flows_of
from prism.synth.endless_simulation import EndlessRun
from prism.synth.scenario.presets import PRESETS
from prism.synth.scenario.specification import Spec
from prism.synth.scenario.specification_file import apply_settings, parse

MOST = 1_000_000  # flow records in memory at once
SUFFIXES = (".yaml", ".yml", ".json")


def spec_of(preset_or_path: str, settings: Sequence[str] = ()) -> Spec:
    """Return the preset, or read the spec from a YAML or JSON file, with settings such as jobs.0.dp=16.

    Raises ValueError, one line, if there is neither or a value is invalid; OSError if a file cannot be read.
    """
    if preset_or_path in PRESETS:
        return apply_settings(PRESETS[preset_or_path], settings)
    path = Path(preset_or_path)
    if path.suffix.lower() not in SUFFIXES and not path.is_file():
        raise ValueError(f"{preset_or_path}: neither a file nor a preset; presets: {', '.join(PRESETS)}")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{preset_or_path}: offset {error.start}: not UTF-8 text") from None
    return apply_settings(parse(text, preset_or_path), settings)


def write(spec: Spec, folder: str | Path, seed: int = 0, *, max_records: int = MOST) -> int:
    """Simulate into a folder, which is created if needed; return the number of flow records.

    `max_records`: records in memory at once. With less than all, sampled and lost records differ from those of `simulate`.
    """
    play, ways = EndlessRun(spec, seed, most=max_records), dict[tuple[str, ...], int]()
    folder, collection = _made(folder), None
    with Writer(folder / "flows.csv.gz", level=1) as file:
        for parts, _ in play.pieces():
            if collection is None:
                seen = play.seen[0] + spec.start_ns, play.seen[1] + spec.start_ns
                collection = Collection(spec.degradation, seen, play.rng)
            flows = flows_of(parts, play.plant, spec.start_ns, ways)
            file.add(collection.degrade(flows, Transits.empty())[0])
        written = file.count
    _write_documents(folder, play.plant.topology(), play.truth())
    return written


def write_packets(
    spec: Spec,
    folder: str | Path,
    seed: int = 0,
    *,
    erspan: bool = False,
    ends_only: bool = False,
    snaplen: int = SNAPLEN,
    max_records: int = MOST,
) -> int:
    """Simulate into captures: one per switch, named after it, as from its mirror port or its ERSPAN session.

    Returns the number of frames. `ends_only`: only the first and the last packet of RDMA messages. `snaplen`: octets kept per
    frame.
    """
    play, packets = EndlessRun(spec, seed, packets=True, most=max_records), Packets(ends_only=ends_only)
    rng = np.random.default_rng([seed, 1 << 21])
    mirrors = Mirrors(play.plant, spec.start_ns, rng, asked=spec.degradation, erspan=erspan, snaplen=snaplen)

    def numbered() -> Iterator[tuple[Table, float]]:
        for parts, until in play.pieces():
            mirrors.seen = play.seen
            yield from packets.add(make_trains(parts, play.plant), until)

    folder, written = _made(folder), 0
    with ExitStack() as stack:
        writers = [(name, pcap.Writer(folder / f"{name}.pcap.gz", snaplen=snaplen)) for name in play.plant.switches]
        files = {name: stack.enter_context(writer) for name, writer in writers}
        for some in mirrors.captured(numbered()):
            files[some.switch].add(some.time_ns, some.octets, some.captured, some.wire)
            written += len(some.time_ns)
    _write_documents(folder, play.plant.topology(), play.truth())
    return written


def _made(folder: str | Path) -> Path:
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _write_documents(folder: Path, topology: dict[str, Any], truth: dict[str, Any]) -> None:
    for name, document in (("topology", topology), ("truth", truth)):
        (folder / f"{name}.json").write_text(json.dumps(document, separators=(",", ":")), encoding="utf-8")
