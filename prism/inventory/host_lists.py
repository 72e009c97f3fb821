"""Expand the host lists of Slurm: `gpu[001-004,7],login1` is gpu001, gpu002, gpu003, gpu004, gpu7, login1.

Grammar: https://slurm.schedmd.com/scontrol.html (show hostnames). A range keeps the width of its first number.
"""

from __future__ import annotations

import re

MOST = 100_000  # maximum hosts of a list
_RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?")


def expanded(text: str, context: str) -> tuple[str, ...]:
    """Expand a list to its hosts in order, each once. Raises ValueError with `context` if it is invalid or too long."""
    found: dict[str, None] = {}
    for part in _parts(text, context):
        for host in _hosts(part, context):
            found[host] = None
            if len(found) > MOST:
                raise ValueError(f"{context}: more than {MOST:,} hosts")
    return tuple(found)


def _parts(text: str, where: str) -> list[str]:
    """Split the list at commas outside brackets."""
    parts, depth, begin = [], 0, 0
    for i, sign in enumerate(text):
        depth += (sign == "[") - (sign == "]")
        if depth not in (0, 1):
            raise ValueError(f"{where}:{i + 1}: brackets do not match in {text[:60]!r}")
        if sign == "," and not depth:
            parts.append(text[begin:i])
            begin = i + 1
    if depth:
        raise ValueError(f"{where}: a bracket is not closed in {text[:60]!r}")
    return [part.strip() for part in (*parts, text[begin:]) if part.strip()]


def _hosts(part: str, where: str) -> list[str]:
    """Expand one part; brackets multiply."""
    out = [""]
    for i, piece in enumerate(re.split(r"[\[\]]", part)):
        choices = _numbers(piece, where) if i % 2 else [piece]
        if len(out) * len(choices) > MOST:
            raise ValueError(f"{where}: more than {MOST:,} hosts in {part[:60]!r}")
        out = [head + choice for head in out for choice in choices]
    return out


def _numbers(inside: str, where: str) -> list[str]:
    out: list[str] = []
    for one in inside.split(","):
        found = _RANGE.fullmatch(one.strip())
        if found is None:
            raise ValueError(f"{where}: {one[:30]!r} is not a number or a range such as 001-016")
        first, last = found[1], found[2] or found[1]
        if not int(first) <= int(last) < int(first) + MOST:
            raise ValueError(f"{where}: the range {one[:30]!r} is empty or longer than {MOST:,}")
        out += [str(number).zfill(len(first)) for number in range(int(first), int(last) + 1)]
    return out
