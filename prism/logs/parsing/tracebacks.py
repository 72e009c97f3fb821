"""Follow a traceback, a crash dump or a launcher's summary through its lines, also among those of other ranks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from prism.logs.parsing.line_prefixes import Prefix, prefix

LONGEST = 400  # lines of one block
BLANKS = 3  # empty lines after the error before the block is over
FOREIGN = 200  # lines of other writers between two lines of a block

_START = re.compile(
    r"Traceback \(most recent call last\)|\(most recent call first\):\s*$|^\s*frame #\d+:|^Exception raised from "
)
_EXCEPTION = re.compile(
    r"^(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*(?:Error|Exception|Exit|Interrupt|Warning|Iteration|Timeout|Failure)?(?::|$)"
)
_AT = re.compile(r"^\s+\S+\(\d+\): [\w<>]+\s*$")
_RULE = re.compile(r"^\s*={20,}\s*$")


@dataclass
class Block:
    """Lines of one report of a failure. `said` is the line that names the error; empty while it is open."""

    key: tuple[int | None, str]
    numbers: list[int]
    said: str = ""
    open: bool = True
    rules: int = -1  # of a launcher's summary, which ends with its second rule; -1 outside of one
    foreign: int = 0
    frames: list[str] = field(default_factory=list)
    first: bool = False  # whether frames come with the most recent first, which ends without an error
    tail: bool = False  # after the error: its message may go on
    blanks: int = 0

    def take(self, number: int, text: str) -> bool:
        """Whether a line belongs to the block; `open` is False afterwards when it has ended."""
        own = prefix(text)
        if own.key != self.key and text.strip():
            self.foreign += 1
            self.open = self.foreign < FOREIGN
            return False
        if self.rules >= 0:
            return self._summary(number, own.rest)
        return self._more(number, own) if self.tail else self._frame(number, own)

    def _frame(self, number: int, own: Prefix) -> bool:
        rest = own.rest
        if rest[:1].isspace() or _START.search(rest) or (not rest.strip() and own.level):
            self._add(number, rest)
            return True
        if self.first or not rest.strip():
            self.open = False
            return False
        self._add(number, rest)
        self.said = rest.strip()
        if rest.startswith(("torch.distributed.elastic", "ChildFailedError")) and "ChildFailedError" in rest:
            self.rules = 0
        else:
            self.tail = True
        return True

    def _more(self, number: int, own: Prefix) -> bool:
        """Lines after the error: empty ones, and the Python stack of an error that C++ code passed on (`At:`)."""
        if not own.rest.strip():
            self.blanks += 1
            if own.level:
                self._add(number, own.rest)
            self.open = self.blanks < BLANKS
            return True
        if own.rest == "At:" or ((self.frames[-1] == "At:" or _AT.match(self.frames[-1])) and _AT.match(own.rest)):
            self._add(number, own.rest)
            return True
        self.open = False
        return False

    def _summary(self, number: int, rest: str) -> bool:
        self.rules += bool(_RULE.match(rest))
        if rest.strip():
            self._add(number, rest)
        self.open = self.open and self.rules < 2
        return True

    def _add(self, number: int, rest: str) -> None:
        self.foreign = 0
        self.numbers.append(number)
        if len(self.frames) < LONGEST:
            self.frames.append(rest)
        self.open = len(self.numbers) < LONGEST


def starts(text: str) -> Block | None:
    """A block, if a line begins one; its number is still to be added."""
    own = prefix(text)
    if not _START.search(own.rest):
        return None
    return Block(own.key, [], first="Traceback" not in own.rest, frames=[own.rest])


def names_error(text: str) -> bool:
    """Whether a line looks like the last one of a traceback: `KeyError: 'x'`."""
    return _EXCEPTION.match(text) is not None
