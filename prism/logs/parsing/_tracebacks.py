"""Follow a traceback, a crash dump or a launcher's summary through its lines, also between lines of other ranks."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from prism.logs.parsing.line_prefixes import Prefix, prefix

MAX_LINES = 400  # lines of one block
MAX_BLANKS = 3  # empty lines after the error that end the block
MAX_FOREIGN = 200  # lines of other writers between two lines of a block

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
    """Lines of one failure report. `error_line`: the line with the error; empty while the block is open."""

    key: tuple[int | None, str]
    numbers: list[int]
    error_line: str = ""
    open: bool = True
    rules: int = -1  # horizontal rules seen in a launcher's summary, which ends with the second one; -1 outside of one
    foreign: int = 0
    frames: list[str] = field(default_factory=list)
    first: bool = False  # frames start with the most recent one, and the block ends without an error line
    tail: bool = False  # after the error, whose message may continue
    blanks: int = 0

    def take(self, number: int, text: str) -> bool:
        """Add a line if it belongs to the block; afterwards `open` is False if the block has ended."""
        own = prefix(text)
        if own.key != self.key and text.strip():
            self.foreign += 1
            self.open = self.foreign < MAX_FOREIGN
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
        self.error_line = rest.strip()
        if rest.startswith(("torch.distributed.elastic", "ChildFailedError")) and "ChildFailedError" in rest:
            self.rules = 0
        else:
            self.tail = True
        return True

    def _more(self, number: int, own: Prefix) -> bool:
        """Accept lines after the error: empty ones, and the Python stack of an error from C++ code (`At:`)."""
        if not own.rest.strip():
            self.blanks += 1
            if own.level:
                self._add(number, own.rest)
            self.open = self.blanks < MAX_BLANKS
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
        if len(self.frames) < MAX_LINES:
            self.frames.append(rest)
        self.open = len(self.numbers) < MAX_LINES


def start_block(text: str) -> Block | None:
    """Start a block if the line begins one; add its number afterwards."""
    own = prefix(text)
    if not _START.search(own.rest):
        return None
    return Block(own.key, [], first="Traceback" not in own.rest, frames=[own.rest])


def names_error(text: str) -> bool:
    """Check whether a line looks like the last one of a traceback: `KeyError: 'x'`."""
    return _EXCEPTION.match(text) is not None
