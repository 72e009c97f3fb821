"""Convert the history of a job to texts for the store: a head (job, layout, groups, events), and parts of its timeline by time.

Finished steps no longer change, so only the newest parts are written again. Texts are packed (`packing`), compressed, and
base64. A text of another version of Prism is refused.
"""

from __future__ import annotations

import base64
import hashlib
import math
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism.model import NO_PHASES, JobDiagnosis, Phases, Spans, Timeline
from prism.storage.board_files import bare, check_job
from prism.storage.packing import packed, unpacked
from prism.tracking.timeline_stitching import job_ends

SCHEMA = "prism-history/2"
OCTETS = 64 << 20  # limit of one history, and of one text, before compression
STEPS = 64  # minimum steps of a part
NONE64, NONE32 = np.zeros(0, np.int64), np.zeros(0, np.int32)
NO_SPANS = Spans(NONE64, NONE64, NONE32, np.zeros(0, np.int8), NONE32)


@dataclass(frozen=True, eq=False)
class Head:
    """A job without steps, spans and phases. `width_ns`: duration of each part. `first_ns`: begin of its first step."""

    found: JobDiagnosis
    width_ns: int
    first_ns: int


@dataclass(frozen=True, eq=False)
class Part:
    """The steps that end in [block, block + 1) × `width_ns`, their phases, and the spans that begin there.

    `members` identifies the endpoints of these ranks. `first`: number of the job's first step that ends here or later. Phases
    number steps from the first one of each rank in this part.
    """

    members: str
    width_ns: int
    block: int
    first: int
    steps: tuple[NDArray[np.int64], ...]
    spans: Spans
    phases: Phases

    @property
    def octets(self) -> int:
        """Approximate size before compression."""
        return 16 * sum(map(len, self.steps)) + 33 * len(self.spans) + 25 * len(self.phases)

    def digest(self) -> bytes:
        """Digest of the contents."""
        out = hashlib.blake2b(str(self.first).encode(), digest_size=16)
        for own in self.steps:
            out.update(own.tobytes())
        for rows in (self.spans, self.phases):
            out.update(len(rows).to_bytes(8))
            for name in ("start_ns", "end_ns", "rank", "phase"):
                out.update(getattr(rows, name).tobytes())
        return out.digest()


def members(job: JobDiagnosis) -> str:
    """Identify the endpoints of a job and their order."""
    return hashlib.blake2s("\n".join(job.job.endpoints).encode(), digest_size=8).hexdigest()


def width(step_ns: float, known_ns: int = 0) -> int:
    """Duration of a part, ns: `STEPS` steps, rounded up to a power of two; `known_ns` while that is about right."""
    wanted = STEPS * max(step_ns, 1e6)
    return known_ns if wanted <= 2 * known_ns <= 16 * wanted else 1 << math.ceil(math.log2(wanted))


def head(job: JobDiagnosis, width_ns: int) -> Head:
    """Build the head of a job's history."""
    line, job = job.timeline, bare(job)
    nothing = tuple(np.zeros((0, 2), np.int64) for _ in line.steps)
    rest = replace(line, steps=nothing, spans=NO_SPANS, phases=NO_PHASES)
    return Head(replace(job, timeline=rest), width_ns, min((int(own[0, 0]) for own in line.steps if len(own)), default=0))


def blocks(line: Timeline, width_ns: int) -> range:
    """Numbers of the parts of a timeline, the oldest first."""
    ends = [(int(own[0, 1]), int(own[-1, 1])) for own in line.steps if len(own)]
    if not ends:
        return range(0)
    return range(min(low for low, _ in ends) // width_ns, max(high for _, high in ends) // width_ns + 1)


def part(job: JobDiagnosis, width_ns: int, block: int, *, octets: int = OCTETS) -> Part:
    """Build a part of a job's timeline; above the limit of `octets` without spans, then also without phases."""
    line, edges = job.timeline, (block * width_ns, (block + 1) * width_ns)
    places = np.array([np.searchsorted(own[:, 1], edges) for own in line.steps], np.int64).reshape(-1, 2)
    steps = tuple(own[low:high] for own, (low, high) in zip(line.steps, places.tolist(), strict=True))
    spans, phases = line.spans, line.phases
    inside = (spans.start_ns >= edges[0]) & (spans.start_ns < edges[1])
    own = np.flatnonzero((phases.step >= places[phases.rank, 0]) & (phases.step < places[phases.rank, 1]))
    step = (phases.step[own] - places[phases.rank[own], 0]).astype(np.int32)
    kept_phases = replace(_rows(phases, own), step=step)
    first = line.first + int(np.searchsorted(job_ends(line), edges[0]))
    whole = Part(members(job), width_ns, block, first, steps, _rows(spans, np.flatnonzero(inside)), kept_phases)
    for smaller in (whole, replace(whole, spans=NO_SPANS)):
        if smaller.octets <= octets:
            return smaller
    return replace(whole, spans=NO_SPANS, phases=NO_PHASES)


def own_parts(head: Head, parts: Iterable[Part]) -> list[Part]:
    """Select the parts that belong to a head, the oldest first."""
    names = members(head.found)
    some = (one for one in parts if (one.members, one.width_ns) == (names, head.width_ns))
    return sorted((one for one in some if (one.block + 1) * one.width_ns > head.first_ns), key=lambda one: one.block)


def joined(head: Head, parts: Iterable[Part]) -> JobDiagnosis:
    """Join a head and its parts to a job. Raises ValueError if they do not fit."""
    found, parts = head.found, own_parts(head, parts)
    ranks = len(found.job.endpoints)
    if not parts:
        return found
    if any(len(one.steps) != ranks for one in parts):
        raise ValueError("a part has other ranks than its job")
    steps = tuple(np.concatenate([one.steps[rank] for one in parts]) for rank in range(ranks))
    before = np.cumsum([[0] * ranks, *([len(steps) for steps in one.steps] for one in parts)], axis=0).astype(np.int32)
    numbered = [replace(one.phases, step=one.phases.step + before[i][one.phases.rank]) for i, one in enumerate(parts)]
    phases = _together(numbered)
    phases = _rows(phases, np.argsort(phases.rank, kind="stable"))
    line = replace(found.timeline, steps=steps, spans=_together([one.spans for one in parts]), phases=phases)
    line = replace(line, first=_first(line, parts[-1]))
    end = max((int(rows[-1, 1]) for rows in steps if len(rows)), default=found.job.end_ns)
    whole = replace(found, job=replace(found.job, end_ns=max(end, found.job.end_ns)), timeline=line)
    check_job(whole)
    return whole


def _first(line: Timeline, newest: Part) -> int:
    """Number of a timeline's first step by its newest part: numbers may have changed since others were written."""
    return max(newest.first - int(np.searchsorted(job_ends(line), newest.block * newest.width_ns)), 0)


def _rows(table: Any, rows: NDArray[np.intp]) -> Any:
    """Select rows of spans or phases; the octets of spans are not saved."""
    names = ("start_ns", "end_ns", "rank", "phase", "step" if isinstance(table, Phases) else "peer")
    return type(table)(**{name: getattr(table, name)[rows] for name in names})


def _together(tables: list[Any]) -> Any:
    names = ("start_ns", "end_ns", "rank", "phase", "step" if isinstance(tables[0], Phases) else "peer")
    return type(tables[0])(**{name: np.concatenate([getattr(one, name) for one in tables]) for name in names})


def written(document: Head | Part) -> str:
    """Convert a head or a part to text. Raises ValueError if it has too many names."""
    pressed = zlib.compressobj(1)
    pieces = [pressed.compress(piece) for piece in packed(document, type(document), SCHEMA)]
    return base64.b64encode(b"".join([*pieces, pressed.flush()])).decode("ascii")


def read_head(text: str, *, octets: int = 2 * OCTETS) -> Head:
    """Read a head. Raises ValueError if it has another version, or more than `octets`."""
    found: Head = _read(text, Head, octets)
    check_job(found.found)
    return found


def read_part(text: str, *, octets: int = 2 * OCTETS) -> Part:
    """Read a part. Raises ValueError as `read_head`, or if its phases or spans have other ranks than its steps."""
    found: Part = _read(text, Part, octets)
    for rows in (found.spans, found.phases):
        if len(rows) and not 0 <= int(rows.rank.min()) <= int(rows.rank.max()) < len(found.steps):
            raise ValueError(f"no {SCHEMA}: a rank is not among {len(found.steps)}")
    return found


def _read(text: str, hint: Any, octets: int) -> Any:
    try:
        opened = zlib.decompressobj()
        whole = opened.decompress(base64.b64decode(text, validate=True), octets)
    except zlib.error as error:
        raise ValueError(f"no {SCHEMA}: {error}") from None
    if not opened.eof:
        raise ValueError(f"no {SCHEMA}: it is cut, or longer than {octets >> 20} MiB")
    return unpacked(np.frombuffer(bytearray(whole), np.uint8), hint, SCHEMA)
