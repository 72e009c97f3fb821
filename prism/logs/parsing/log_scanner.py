"""Read one stream of log text in a single pass with bounded memory.

Most lines of a training log repeat. A line without digits and hexadecimal letters is its skeleton; a dictionary of skeletons
decides whether a line is parsed. So a usual line costs a look-up, not a parse.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from prism.logs.parsing._timestamps import parse_boot_time, parse_timestamp
from prism.logs.parsing._tracebacks import Block, names_error, start_block
from prism.logs.parsing.drain import Drain
from prism.logs.parsing.iterations import Mark, duration_s, iteration
from prism.logs.parsing.line_cleaning import clean, mask, segments
from prism.logs.parsing.line_prefixes import prefix
from prism.logs.parsing.log_facts import Facts, is_fact
from prism.logs.parsing.signatures import Signature, is_severe, recognize

FIRST, LAST = 64, 64  # kept lines per skeleton and stream: the first ones, and the last ones
DENSE, THIN = 2_000, 64  # progress lines read per stream: all of the first DENSE, then one of THIN
MARKS = 200_000  # progress lines kept per stream
FACTS = 4_096  # lines per skeleton and stream that are read for facts
WRITERS, SPARSE = 2_000, 64  # lines whose writer is parsed: all of the first WRITERS, then one of SPARSE
HOT = 5_000  # skeletons per stream of which lines are kept
SKELETONS = 64 << 20  # octets of remembered skeletons
CAREFUL, MOST_LEARNT = 10_000, 50_000  # limits for new skeletons: a parse of one costs 0.2 ms
WORDS = (
    *(b"rror", b"xception", b"fail", b"FAIL", b"atal", b"bort", b"illed", b"Xid", b"NCCL", b"emory", b"Traceback", b"signal"),
    *(
        b"imed out",
        b"imeout",
        b"losed",
        b"Link",
        b"iteration",
        b"step",
        b"loss",
        b"heckpoint",
        b"No space",
        b"Killed",
        b"most recent call",
    ),
)
_VARYING = b"0123456789abcdefABCDEF"
YEAR = datetime.now(UTC).year  # year of stamps without one, by default


@dataclass(frozen=True)
class Event:
    """A line, or a block of lines, that may report a failure."""

    source: str
    numbers: tuple[int, ...]
    text: str  # masked; of a block the line with the error
    signature: Signature | None
    level: str
    rank: int | None
    host: str
    time_ns: int | None
    boot_ns: int | None
    iteration: int  # the last one before it in its stream, -1 if none
    frames: tuple[str, ...] = ()
    template: str = ""


@dataclass
class Kinds:
    """Kinds of skeletons, for all streams of one analysis: 0 ignored, 1 progress, 2 parse, 3 fact."""

    drain: Drain = field(default_factory=Drain)
    of: dict[bytes, int] = field(default_factory=dict)
    octets: int = 0
    seen: int = 0
    learnt: int = 0

    def learn(self, key: bytes, line: bytes) -> int:
        """Classify a new skeleton by one of its lines.

        With few skeletons, all are parsed. If nearly every line is new, as in binary data, only lines with a significant word
        are parsed; after `MOST_LEARNT` of these, one in `THIN`.
        """
        self.seen += 1
        if self.seen > CAREFUL and not any(word in line for word in WORDS):
            return 0
        self.learnt += 1
        if self.learnt > MOST_LEARNT and self.learnt % THIN:
            return 0
        text = line.decode("utf-8", "replace")
        rest = prefix(text).rest
        found = recognize(rest)
        if start_block(text) is not None or (found is not None and found.role in ("root", "symptom")):
            kind = 2
        elif iteration(rest) is not None:
            kind = 1
        elif found is not None or is_severe(rest):
            kind = 2
        else:
            kind = 3 if is_fact(rest) else 0
        self.drain.add(rest)
        if self.octets < SKELETONS:
            self.of[key] = kind
            self.octets += len(key)
        return kind


@dataclass
class _Kept:
    first: list[tuple[int, bytes, int, int | None]] = field(default_factory=list)
    last: deque[tuple[int, bytes, int, int | None]] = field(default_factory=lambda: deque(maxlen=LAST))


class Scanner:
    """Scanner of one stream. `feed` accepts blocks of whole lines; `events` returns the findings."""

    def __init__(self, source: str, kinds: Kinds, *, rank: int | None = None, host: str = "", year: int = YEAR) -> None:
        self.source, self.kinds, self.year = source, kinds, year
        self.rank, self.host = rank, host
        self.lines = self.octets = 0
        self.counts: Counter[bytes] = Counter()
        self.marks: list[Mark] = []
        self.last: Mark | None = None
        self.facts = Facts()
        self.writers: set[tuple[int | None, str]] = set()
        self._kept: dict[bytes, _Kept] = {}
        self._blocks: list[Block] = []
        self._open: list[Block] = []
        self._at: list[tuple[Block, bytes, int, int | None]] = []
        self._raw: tuple[int, bytes] | None = None  # the last progress line, if it is not parsed yet
        self._progressed = self._sampled = 0

    def feed(self, block: bytes) -> None:
        """Scan whole lines: the block ends with a line feed, or at the end of the stream."""
        self.octets += len(block)
        block = clean(block).removesuffix(b"\n")
        lines, numbers = segments(block, self.lines + 1)
        keys, _ = segments(block.translate(None, _VARYING), 0)
        if len(keys) != len(lines):  # a segment of digits alone vanished
            keys = [line.translate(None, _VARYING) for line in lines]
        self.lines = numbers[-1]
        self._sample(lines)
        known = self.kinds.of
        kinds = [known.get(key, -1) for key in keys]
        if not self._open and not any(kinds):
            return
        i, n = 0, len(lines)
        while i < n:
            if kinds[i] == 0 and not self._open:
                try:
                    i = next(j for j in range(i, n) if kinds[j])
                except StopIteration:
                    return
            kind = kinds[i]
            if kind < 0:
                kind = known.get(keys[i], -1)
                kind = self.kinds.learn(keys[i], lines[i]) if kind < 0 else kind
            if kind or self._open:
                self._look(kind, keys[i], lines[i], numbers[i])
            i += 1

    def _sample(self, lines: list[bytes]) -> None:
        """Learn the writers of the stream, also those that never print an error."""
        first, self._sampled = max(WRITERS - self._sampled, 0), self._sampled + len(lines)
        for line in lines[:first] + lines[first::SPARSE]:
            own = prefix(line[:256].decode("utf-8", "replace"))
            if own.key != (None, "") and len(self.writers) < WRITERS:
                self.writers.add((self.rank if own.rank is None else own.rank, own.host or self.host))

    def _look(self, kind: int, key: bytes, line: bytes, number: int) -> None:
        if self._open and self._belongs(line, number):
            return
        if kind == 1:
            self._progressed += 1
            self._raw = (number, line)
            if self._progressed < DENSE or self._progressed % THIN == 0:
                self._progress()
        elif kind == 3:
            self.counts[key] += 1
            if self.counts[key] <= FACTS:
                self.facts.read(prefix(line.decode("utf-8", "replace")), self.rank)
        elif kind == 2:
            self._keep(key, line, number)

    def _keep(self, key: bytes, line: bytes, number: int) -> None:
        self.counts[key] += 1
        kept = self._kept.get(key)
        if kept is None:
            if len(self._kept) >= HOT:
                return
            kept = self._kept[key] = _Kept()
        self._progress()
        if self.counts[key] <= FIRST:  # an unfinished progress bar may precede an error
            self._raw = (number, line)
            self._progress()
        own = (number, line, self.last.iteration if self.last else -1, self.last.time_ns if self.last else None)
        if len(kept.first) < FIRST:
            kept.first.append(own)
        else:
            kept.last.append(own)
        self._begin(own)

    def _begin(self, own: tuple[int, bytes, int, int | None]) -> None:
        text = own[1].decode("utf-8", "replace")
        if len(self._at) < HOT and (block := start_block(text)) is not None:
            block.numbers.append(own[0])
            self._open.append(block)
            self._at.append((block, own[1], own[2], own[3]))

    def _belongs(self, line: bytes, number: int) -> bool:
        text = line.decode("utf-8", "replace")
        for block in self._open:
            if block.take(number, text):
                if not block.open:
                    self._open.remove(block)
                return True
        self._open = [block for block in self._open if block.open]
        return False

    def _progress(self) -> None:
        """Parse the last progress line, unless that was done."""
        if self._raw is None:
            return
        number, line = self._raw
        self._raw = None
        text = line.decode("utf-8", "replace")
        own = prefix(text)
        count = iteration(own.rest)
        if count is None:  # a bar before another text is cut off as its prefix
            count = iteration(text)
        if count is None:
            return
        self.last = Mark(number, count, parse_timestamp(text, self.year), duration_s(own.rest))
        if len(self.marks) < MARKS:
            self.marks.append(self.last)

    def events(self) -> list[Event]:
        """Return everything that was kept, in order of lines; lines of blocks appear once."""
        self._progress()
        covered = {number for block, *_ in self._at for number in block.numbers}
        out = [self._block(*own) for own in self._at]
        for kept in self._kept.values():
            out += [self._line(*own) for own in (*kept.first, *kept.last) if own[0] not in covered]
        self.writers |= {(one.rank, one.host) for one in out}
        for one in out:
            for text in one.frames or (one.text,):
                self.facts.read(prefix(text)._replace(rank=one.rank, host=one.host), one.rank)
        return sorted(out, key=lambda one: one.numbers[0])

    def _line(self, number: int, line: bytes, count: int, before: int | None) -> Event:
        text = line.decode("utf-8", "replace")
        own = prefix(text)
        return self._event((number,), text, own.rest, count, before)

    def _block(self, block: Block, line: bytes, count: int, before: int | None) -> Event:
        text = line.decode("utf-8", "replace")
        said = block.error_line or next((one for one in reversed(block.frames) if one.strip()), "")
        if block.rules >= 0:  # the error in a launcher's summary is more specific than the summary
            said = next(
                (one.strip() for one in reversed(block.frames) if names_error(one.strip()) and recognize(one.strip())), said
            )
        if any("_exit_barrier" in one for one in block.frames):  # of agents that exit one after another
            said = "Error waiting on exit barrier"
        return self._event(tuple(block.numbers), text, said, count, before, tuple(block.frames[-60:]))

    def _event(
        self, numbers: tuple[int, ...], line: str, said: str, count: int, before: int | None, frames: tuple[str, ...] = ()
    ) -> Event:
        own = prefix(line)
        found = recognize(said)
        template = self.kinds.drain.match(said)
        return Event(
            self.source,
            numbers,
            mask(said.strip() or line.strip()),
            found,
            own.level,
            self.rank if own.rank is None else own.rank,
            own.host or self.host,
            parse_timestamp(line, self.year) or before,
            parse_boot_time(line),
            count,
            tuple(mask(one) for one in frames),
            str(template) if template else "",
        )


def scan(source: str, blocks: Iterable[bytes], kinds: Kinds, *, rank: int | None = None, host: str = "") -> Scanner:
    """Scan a whole stream of blocks that end with whole lines."""
    scanner = Scanner(source, kinds, rank=rank, host=host)
    for block in blocks:
        scanner.feed(block)
    return scanner
