"""Parse stack dumps of Python processes: py-spy dump (text and JSON) and faulthandler."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

FRAMES = 200  # of a thread, at most
THREADS = 1000  # of a process, at most

_FAULT_THREAD = re.compile(r"^(?:Current thread|Thread) (0x[0-9a-f]+)(?: \[([^\]]{0,64})\])? \(most recent call first\):")
_FAULT_FRAME = re.compile(r'^  File "([^"]{1,1024})", line (\d+|\?\?\?) in (.{1,200})$')
_SPY_THREAD = re.compile(r'^Thread (?:0x)?([0-9A-Fa-f]+)(?: \((active|idle)[^)]{0,40}\))?(?:: "([^"]{0,200})")?\s*$')
_SPY_FRAME = re.compile(r"^    (\S.{0,200}?) \(([^()]{1,1024}?)(?::(\d+))?\)\s*$")
_SPY_HEAD = re.compile(r"^Process (\d+): ")


class Frame(NamedTuple):
    """A call: function and file; `line` is 0 if unknown."""

    function: str
    file: str
    line: int = 0


@dataclass(frozen=True)
class Thread:
    """Calls of a thread, the innermost first."""

    name: str
    frames: tuple[Frame, ...]
    active: bool = True


@dataclass(frozen=True)
class Dump:
    """Threads of one process. `rank` is None if neither the file's name nor its text contains it."""

    name: str
    rank: int | None
    threads: tuple[Thread, ...]

    @property
    def main(self) -> Thread | None:
        """The training thread: MainThread by name, else the deepest one with calls."""
        named = [thread for thread in self.threads if thread.name == "MainThread" and thread.frames]
        return named[0] if named else max(self.threads, key=lambda thread: len(thread.frames), default=None)


def parse(text: str, name: str, rank: int | None) -> Dump | None:
    """Parse the last dump in a text; None if it is no stack dump."""
    if text.lstrip()[:1] == "[" and '"frames"' in text:
        return _spy_json(text, name, rank)
    lines = text.split("\n")
    is_spy = any(_SPY_HEAD.match(line) for line in lines[:50])
    threads = list(_spy(lines) if is_spy else _fault(lines))
    return Dump(name, rank, tuple(threads[:THREADS])) if threads else None


def _fault(lines: Sequence[str]) -> Iterator[Thread]:
    """Yield the threads of the last dump: faulthandler writes the current thread last, and a timer may write several dumps."""
    starts = [i for i, line in enumerate(lines) if line.startswith(("Timeout (", "Fatal Python error"))]
    lines = lines[starts[-1] :] if starts else lines
    name: str | None = None
    frames: list[Frame] = []
    for line in [*lines, ""]:
        if found := _FAULT_FRAME.match(line):
            if len(frames) < FRAMES:
                frames.append(Frame(found[3], found[1], int(found[2]) if found[2].isdigit() else 0))
            continue
        if name is not None and frames:
            yield Thread(name, tuple(frames))
        begun = _FAULT_THREAD.match(line)
        name, frames = (begun[2] or begun[1]) if begun else None, []


def _spy(lines: Sequence[str]) -> Iterator[Thread]:
    name, active = "", True
    frames: list[Frame] = []
    for line in [*lines, 'Thread 0 (idle): ""']:
        if found := _SPY_FRAME.match(line):
            if len(frames) < FRAMES:
                frames.append(Frame(found[1], found[2], int(found[3] or 0)))
        elif begun := _SPY_THREAD.match(line):
            if frames:
                yield Thread(name, tuple(frames), active)
            name, active, frames = begun[3] or begun[1], begun[2] != "idle", []


def _spy_json(text: str, name: str, rank: int | None) -> Dump | None:
    try:
        document = json.loads(text)
        threads = [_spy_thread(one) for one in document[:THREADS]]
    except (ValueError, RecursionError, TypeError, AttributeError, KeyError):
        return None
    return Dump(name, rank, tuple(threads)) if threads else None


def _spy_thread(one: dict[str, Any]) -> Thread:
    frames = tuple(
        Frame(str(own["name"])[:200], str(own.get("short_filename") or own.get("filename"))[:1024], int(own.get("line") or 0))
        for own in one["frames"][:FRAMES]
    )
    return Thread(str(one.get("thread_name") or one.get("thread_id")), frames, bool(one.get("active", True)))
