"""Parse hints of the operator about the site and its jobs: priors for the analysis that never overrule clear traffic.

A document is JSON or YAML: `{"site": {"gpus_per_host": 8, "library": "nccl", "algorithms": ["ring"], "tp": [8]}, "jobs":
[{"name": "llama-70b", "endpoints": ["10.0.0.1", ...], "tp": 8, "pp": 4}]}`. All of it is optional. The caller reads the file.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from collectors.files.documents import Object, load_json, load_yaml
from prism.model import Job, JobDiagnosis
from prism.topology import Topology, is_name, normal_address, shown

LIBRARIES = ("nccl", "rccl", "hccl", "gloo", "mpi", "msccl", "oneccl")
ALGORITHMS = ("ring", "tree", "halving-doubling", "recursive-doubling", "bruck", "direct", "pairwise")
SIZES = ("dp", "pp", "tp", "ep", "cp")
MOST = 1 << 20  # largest valid size of a dimension, and most endpoints of a host
MINE = 0.5  # share of common endpoints from which a job and a hint are the same job
SURE = 0.8  # confidence of a layout from which it contradicts a hint


@dataclass(frozen=True)
class JobHints:
    """Hints about one job; `sizes`: its parallel dimensions that are given."""

    name: str = ""
    endpoints: frozenset[str] = frozenset()
    sizes: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Hints:
    """Facts about the site and its jobs, used as priors.

    Attributes
    ----------
    gpus_per_host : int or None
        Number of GPUs of a host; None if unknown.
    library : str
        Communication library, one of `LIBRARIES`; empty if unknown.
    algorithms, tp : tuple
        Collective algorithms (of `ALGORITHMS`) and sizes of tensor parallelism in use; empty if unknown.
    jobs : tuple of JobHints
        Facts about single jobs.
    """

    gpus_per_host: int | None = None
    library: str = ""
    algorithms: tuple[str, ...] = ()
    tp: tuple[int, ...] = ()
    jobs: tuple[JobHints, ...] = ()

    def only(self, endpoints: Collection[str]) -> Hints:
        """Select the hints for the site and for the job of some endpoints."""
        own = self.job(endpoints)
        return replace(self, jobs=() if own is None else (own,))

    def job(self, endpoints: Collection[str]) -> JobHints | None:
        """Return the hints of the job with most of some endpoints, if it is the same job."""
        own = frozenset(endpoints)
        near = max(self.jobs, key=lambda one: _alike(own, one.endpoints), default=None)
        return near if near is not None and _alike(own, near.endpoints) >= MINE else None


def _alike(one: frozenset[str], other: frozenset[str]) -> float:
    return len(one & other) / max(len(one | other), 1)


def parse(text: str, name: str) -> Hints:
    """Parse hints; `name` is the file, for the format (.json, .yaml, else by content) and for errors.

    Raises ValueError, one line with file and position, for invalid values.
    """
    text = text.removeprefix("\ufeff")
    is_json = name.lower().endswith(".json") or text.lstrip().startswith(("{", "["))
    document = load_json(text, name) if is_json else _with_numbers(load_yaml(text, name))
    check_keys(document, name, ("site", "jobs"))
    site = document.get("site", {})
    where = f"{name}: site"
    check_keys(site, where, ("gpus_per_host", "library", "algorithms", "tp"))
    library = site.get("library")
    return Hints(
        gpus_per_host=_size(site["gpus_per_host"], f"{where}.gpus_per_host") if "gpus_per_host" in site else None,
        library="" if library is None else _one_of(library, LIBRARIES, f"{where}.library"),
        algorithms=tuple(
            _one_of(one, ALGORITHMS, at) for at, one in _listed(site.get("algorithms", []), f"{where}.algorithms")
        ),
        tp=tuple(_size(one, at) for at, one in _listed(site.get("tp", []), f"{where}.tp")),
        jobs=_jobs(document.get("jobs", []), f"{name}: jobs"),
    )


def _jobs(value: Any, where: str) -> tuple[JobHints, ...]:
    found: list[JobHints] = []
    names: dict[str, str] = {}
    owners: dict[str, str] = {}
    for at, own in _listed(value, where):
        check_keys(own, at, ("name", "endpoints", *SIZES))
        name = own.get("name", "")
        if "name" in own and not is_name(name):
            raise ValueError(f"{at}.name: must be a name, not {shown(name)}")
        if name and names.setdefault(name, at) != at:
            raise ValueError(f"{at}.name: {name!r} is the name of {names[name]}, too")
        if "endpoints" not in own:
            raise ValueError(f'{at}: "endpoints" is missing: without them, the job cannot be identified')
        endpoints = [normal_address(one, place) for place, one in _listed(own["endpoints"], f"{at}.endpoints")]
        if not endpoints:
            raise ValueError(f"{at}.endpoints: must name at least one address")
        for address in endpoints:
            if owners.setdefault(address, at) != at:
                raise ValueError(f"{at}.endpoints: {address} is an endpoint of {owners[address]}, too")
        sizes = {kind: _size(own[kind], f"{at}.{kind}") for kind in SIZES if kind in own}
        found.append(JobHints(name, frozenset(endpoints), sizes))
    return tuple(found)


def _with_numbers(value: Any) -> Any:
    """Convert digits in a YAML document, which is all text, to numbers."""
    if isinstance(value, dict):
        return {key: own if key in ("name", "endpoints") else _with_numbers(own) for key, own in value.items()}
    if isinstance(value, list):
        return [_with_numbers(own) for own in value]
    return int(value) if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10 else value


def check_keys(value: Any, context: str, allowed: Sequence[str]) -> None:
    """Check that a value is an object with only `allowed` keys, each once. Raises ValueError that begins with `context`."""
    if not isinstance(value, dict):
        raise ValueError(f"{context}: must be an object, not {shown(value)}")
    if isinstance(value, Object) and value.twice is not None:
        raise ValueError(f"{context}: {value.twice!r} is given twice")
    stray = next((key for key in value if key not in allowed), None)
    if stray is not None:
        raise ValueError(f"{context}: unknown key {stray!r}; known keys: {', '.join(allowed)}")


def _listed(value: Any, where: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(value, list):
        raise ValueError(f"{where}: must be a list, not {shown(value)}")
    yield from ((f"{where}[{i}]", one) for i, one in enumerate(value))


def _size(value: Any, where: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= MOST:
        raise ValueError(f"{where}: must be a whole number from 1 to {MOST}, not {shown(value)}")
    return value


def _one_of(value: Any, known: Sequence[str], where: str) -> str:
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{where}: must be one of {', '.join(known)}, not {shown(value)}")
    return value


def named(job: Job, hints: Hints) -> Job:
    """Give a job the operator's name, if any."""
    own = hints.job(job.endpoints)
    return replace(job, name=own.name) if own is not None and own.name else job


def contradictions(
    hints: Hints, jobs: Sequence[JobDiagnosis], talkers: Collection[str], topology: Topology | None
) -> Iterator[str]:
    """Yield messages about contradictions between hints and traffic. `talkers`: all endpoints with records."""
    heard = frozenset(talkers)
    for hinted in hints.jobs:
        own = next((one for one in jobs if hints.job(one.job.endpoints) is hinted), None)
        if own is None:
            seen = f"{len(hinted.endpoints & heard)} of its {len(hinted.endpoints)} endpoints have traffic"
            yield f"hints: no training job was found at the endpoints of {_called(hinted)}; {seen}"
        else:
            yield from _other_members(hinted, own)
            yield from _other_sizes(hinted, own)
    for one in jobs:
        layout, given = one.parallelism.layout, hints.job(one.job.endpoints)
        if hints.tp and layout.tp not in hints.tp and layout.confidence >= SURE and not (given and "tp" in given.sizes):
            usual = " or ".join(map(str, hints.tp))
            yield f"hints: tp {usual} was given for the site, but the traffic of job {one.job.id} shows TP {layout.tp}"
    if hints.gpus_per_host and topology is not None:
        host, most = max(((h, n) for h, n in topology.sizes.items() if h), key=lambda pair: pair[1], default=("", 0))
        if most > hints.gpus_per_host:
            yield f"hints: gpus_per_host is {hints.gpus_per_host}, but the topology has {most} endpoints at host {host}"


def _called(hinted: JobHints) -> str:
    return f"job {hinted.name}" if hinted.name else f"the job of {_shown(sorted(hinted.endpoints), limit=1)}"


def _other_members(hinted: JobHints, own: JobDiagnosis) -> Iterator[str]:
    members, given = frozenset(own.job.endpoints), hinted.endpoints
    absent, more = sorted(given - members), sorted(members - given)
    if absent:
        yield f"hints: {len(absent)} of the {len(given)} endpoints of {_called(hinted)} do not train with it: {_shown(absent)}"
    if more:
        yield f"hints: {len(more)} endpoints train with {_called(hinted)}, but are not among its endpoints: {_shown(more)}"


def _shown(addresses: Sequence[str], *, limit: int = 4) -> str:
    more = len(addresses) - limit
    return ", ".join(addresses[:limit]) + (f" and {more} more" if more > 0 else "")


def _other_sizes(hinted: JobHints, own: JobDiagnosis) -> Iterator[str]:
    layout = own.parallelism.layout
    for kind, size in hinted.sizes.items():
        seen = getattr(layout, kind)
        if seen != size and layout.confidence >= SURE:
            shows = f"the traffic shows {kind.upper()} {seen} ({layout.confidence:.0%} sure)"
            yield f"hints: {kind} {size} was given for {_called(hinted)}, but {shows}"
