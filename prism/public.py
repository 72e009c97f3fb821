"""The functions that `import prism` offers: `read`, `diagnose`, `replay`, `simulate`.

They accept paths or values, and read the files that are named. The command line has more options.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from collectors.cli.file_arguments import named_inputs
from collectors.columns.record import Flows, Transits
from collectors.compilation.startup import begin
from collectors.formats.file_types import read_columns
from prism import analysis, topology
from prism.inventory import operator_hints as hints
from prism.inventory.operator_hints import Hints
from prism.model import Source
from prism.recordings import file_analysis, simulated_runs
from prism.results import Diagnosis, Recording, Simulation, flows_of
from prism.synth import simulation as synthesis
from prism.synth.scenario.specification import Spec
from prism.synth.scenario.specification_file import parse as parse_spec
from prism.topology import Topology

AnyPath = str | os.PathLike[str]
Paths = AnyPath | Sequence[AnyPath] | Mapping[str, AnyPath]


def read(
    paths: Paths,
    *,
    topology: Topology | Mapping[str, Any] | AnyPath | None = None,
    columns: AnyPath | None = None,
) -> Recording:
    """Read captures, exports and flow records as one recording.

    Parameters
    ----------
    paths : path, sequence of paths, or mapping of switch name to path
        pcap, pcapng, captures of NetFlow, IPFIX or sFlow, IPFIX files, Parquet, CSV, JSON Lines, nfdump, Zeek; plain, `.gz` or
        `.zst`. The name of a file without its suffixes is the name of the switch, unless a mapping or `SWITCH=FILE` names it.
    topology : Topology, dict, path or None
        Host, rail and leaf of each address. It decides which switch is nearest to a sender.
    columns : path or None
        Column mapping for tables of other tools (YAML).

    Returns
    -------
    Recording
        Flow records in order of start. A packet that several switches saw counts once.

    Raises
    ------
    ValueError
        A file is damaged or has no known format; the message names the file and the position.
    OSError
        A file cannot be opened.

    Assumptions
    -----------
    All files are of one run, and the clocks of the exporters agree to within seconds.

    Examples
    --------
    >>> import prism
    >>> recording = prism.read("pcaps/slow_nic/leaf0.pcap.gz")
    >>> recording.source.packets > len(recording) > 1000
    True
    >>> recording.to_arrow().schema.field("octets").type
    DataType(int64)
    """
    given = read_columns(os.fspath(columns)) if columns is not None else None
    _interpret_until_compiled()
    return Recording(*file_analysis.read(_inputs(paths), _topology(topology), _no_progress, given))


def diagnose(
    flows: Flows | Recording | Any,
    *,
    topology: Topology | Mapping[str, Any] | AnyPath | None = None,
    transits: Transits | None = None,
    hints: Hints | Mapping[str, Any] | AnyPath | None = None,
) -> Diagnosis:
    """Find the training jobs in flow records, their layouts, steps and faults.

    Parameters
    ----------
    flows : Recording, Simulation, Flows, or a table
        Flow records. A table is a pyarrow.Table, pandas.DataFrame, polars.DataFrame or any object with `__arrow_c_stream__`,
        with the columns `start_ns`, `end_ns` (ns since the epoch), `src`, `dst` (addresses), `octets` (payload) and the
        optional columns of the flow record.
    topology : Topology, dict, path or None
        Host, rail and leaf of each address. Without it, parallelism inside hosts is not visible.
    transits : Transits or None
        Delays and losses in switches; by default those of the recording.
    hints : Hints, dict, path or None
        Facts about the site and its jobs. They are priors: clear traffic overrules them.

    Returns
    -------
    Diagnosis
        Jobs, findings and unexplained traffic. Without training traffic `jobs` is empty.

    Raises
    ------
    ValueError
        The topology, the hints or the table are not valid.
    OSError
        A file that is named cannot be opened.

    Assumptions
    -----------
    The records are complete, and each job repeats at least three steps. With samples or losses the confidence is lower.

    Examples
    --------
    >>> import prism
    >>> run = prism.simulate("slow-rank", seed=1)
    >>> found = prism.diagnose(run, topology=run.topology)
    >>> [(job.parallelism.layout.dp, job.parallelism.layout.pp) for job in found.jobs]
    [(2, 4)]
    >>> [(one.kind, one.isolate.hosts) for one in found.findings if one.severity != "info"]
    [('slow_rank', ('server5',))]
    """
    recording = flows if isinstance(flows, Recording) else _recording(flows)
    placed, given = _topology(topology), _hints(hints)
    found = recording.transits if transits is None else transits
    _interpret_until_compiled()
    plain = analysis.diagnose(recording.flows, recording.source, topology=placed, transits=found, hints=given)
    return Diagnosis(**vars(plain), topology=placed)


def replay(
    paths: Paths,
    *,
    topology: Topology | Mapping[str, Any] | AnyPath | None = None,
    hints: Hints | Mapping[str, Any] | AnyPath | None = None,
    columns: AnyPath | None = None,
    processes: int | None = 1,
) -> Diagnosis:
    """Read files and diagnose the jobs in them: `read`, then `diagnose`.

    Parameters
    ----------
    paths, topology, columns
        As in `read`.
    hints
        As in `diagnose`.
    processes : int or None
        Number of processes for the analysis. None chooses by the size of the input; the caller then needs the usual
        `if __name__ == "__main__"` of programs that start processes.

    Returns
    -------
    Diagnosis
        The same jobs and findings as `prism replay` prints.

    Raises
    ------
    ValueError
        A file, the topology or the hints are not valid; the message names the file and the position.
    OSError
        A file cannot be opened.

    Assumptions
    -----------
    As in `read` and `diagnose`.

    Examples
    --------
    >>> import prism
    >>> from pathlib import Path
    >>> found = prism.replay(sorted(Path("pcaps/slow_nic").glob("*.pcap.gz")), topology="pcaps/slow_nic/topology.json")
    >>> [(one.kind, one.ids) for one in found.findings if one.severity != "info"]
    [('slow_link', ('10.10.3.1',))]
    """
    given = read_columns(os.fspath(columns)) if columns is not None else None
    placed, known = _topology(topology), _hints(hints)
    _interpret_until_compiled()
    plain = file_analysis.replay(_inputs(paths), placed, None, given, hints=known, processes=processes)
    return Diagnosis(**vars(plain), topology=placed)


def simulate(spec: Spec | Mapping[str, Any] | AnyPath, seed: int = 0, *, settings: Sequence[str] = ()) -> Simulation:
    """Simulate training traffic with its topology and truth.

    Parameters
    ----------
    spec : str, path, dict or Spec
        The name of a preset (`prism simulate --list`), a YAML or JSON file, or the same as a dict.
    seed : int
        Equal seeds give equal runs.
    settings : sequence of str
        Changes of single values, such as `jobs.0.dp=16`. Only for presets and files.

    Returns
    -------
    Simulation
        Flow records as the switches would export them, the topology, and the truth.

    Raises
    ------
    ValueError
        The specification is not valid; the message names the field.
    OSError
        The file cannot be opened.

    Assumptions
    -----------
    Transfers share links fairly (max-min); packets are not simulated.

    Examples
    --------
    >>> import prism
    >>> run = prism.simulate("ddp-rdma", seed=1, settings=["jobs.0.steps=4"])
    >>> len(run.truth["jobs"]), len(run.topology.endpoints)
    (1, 16)
    """
    if isinstance(spec, Mapping):
        asked = parse_spec(json.dumps(spec), "spec.json")
    else:
        asked = spec if isinstance(spec, Spec) else simulated_runs.spec_of(os.fspath(spec), settings)
    made = synthesis.simulate(asked, seed)
    placed = topology.parse(json.dumps(made.topology), "topology.json")
    return Simulation(made.flows, made.transits, _source(made.flows), placed, made.truth)


@cache
def _interpret_until_compiled() -> None:
    """Start compiling loops in a second process, and interpret them until then. Runs once per process."""
    with begin("prism", quiet=True):
        pass


def _no_progress(_stage: str, _done: int, _total: int) -> None:
    """Report nothing."""


def _inputs(paths: Paths) -> list[tuple[str, str]]:
    """Name the switch of each file. Raises ValueError if two files have one switch."""
    if isinstance(paths, Mapping):
        return named_inputs([f"{switch}={os.fspath(path)}" for switch, path in paths.items()])
    several = [paths] if isinstance(paths, str | os.PathLike) else paths
    names = [os.fspath(path) for path in several]
    if not names:
        raise ValueError("no files are given; name at least one capture or dump")
    return named_inputs(names)


def _topology(given: Topology | Mapping[str, Any] | AnyPath | None) -> Topology | None:
    return given if given is None or isinstance(given, Topology) else topology.parse(*_document(given, "topology.json"))


def _hints(given: Hints | Mapping[str, Any] | AnyPath | None) -> Hints | None:
    return given if given is None or isinstance(given, Hints) else hints.parse(*_document(given, "hints.json"))


def _document(given: Mapping[str, Any] | AnyPath, name: str) -> tuple[str, str]:
    """Return text and name of a document. Raises ValueError if it is not UTF-8, OSError if it cannot be opened."""
    if isinstance(given, Mapping):
        return json.dumps(given), name
    path = Path(given)
    try:
        return path.read_text(encoding="utf-8-sig"), str(path)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: offset {error.start}: not UTF-8 text") from None


def _recording(given: Any) -> Recording:
    flows = given if isinstance(given, Flows) else flows_of(given)
    return Recording(flows, Transits.empty(flows.exporters), _source(flows))


def _source(flows: Flows) -> Source:
    start_ns, end_ns = flows.window if len(flows) else (0, 0)
    return Source((), 0, len(flows), {}, start_ns, end_ns)
