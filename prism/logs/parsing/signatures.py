"""The library of causes, signatures.csv: what lines of known makers mean. The first signature that matches a line counts.

`role`: *root* names what broke; *symptom* is printed by ranks that waited for it, or by launchers; *context* belongs to a
failure and proves nothing by itself; *milestone* says where in its life a job is. `strength` orders roots: a kernel that
lost a GPU outweighs the Python error that follows. docs/logs.md explains the library.
"""

from __future__ import annotations

import csv
import re
from importlib.resources import files
from typing import Literal, NamedTuple, get_args

Role = Literal["root", "symptom", "context", "milestone"]
ROLES: tuple[Role, ...] = get_args(Role)
CAUSES = {
    "hardware": "GPU, memory, PCIe or NVLink of the node",
    "network": "NIC, link or fabric of the node",
    "storage": "file system or object store",
    "out of memory": "GPU or host memory used up",
    "numerics": "NaN or Inf: data, optimiser settings, or a GPU that computes wrongly",
    "data": "a sample, a file or a format that the loader cannot use",
    "user code": "the program or its settings",
    "killed": "stopped from outside: scheduler, preemption, operator, or the kernel",
    "peer": "waited for another rank until a time-out or a closed connection",
    "unknown": "nothing in the library",
}


class Signature(NamedTuple):
    """A name, the cause and role it stands for, and the expression that finds it in the text of a line."""

    name: str
    cause: str
    role: Role
    strength: int
    pattern: str


def load(text: str) -> tuple[Signature, ...]:
    """The signatures in a table with columns name, cause, role, strength, pattern. Raises ValueError with the row's name."""
    out = []
    for row in csv.DictReader(text.splitlines()):
        role = next((one for one in ROLES if one == row["role"]), None)
        if role is None or row["cause"] not in CAUSES:
            raise ValueError(f"signature {row['name']}: unknown cause {row['cause']!r} or role {row['role']!r}")
        out.append(Signature(row["name"], row["cause"], role, int(row["strength"]), row["pattern"]))
    return tuple(out)


SIGNATURES = load((files("prism.logs.parsing") / "signatures.csv").read_text(encoding="utf-8"))
_IGNORE = "(?i)"
_ONE = [re.compile(one.pattern) for one in SIGNATURES]
_ANY = re.compile("|".join(f"(?:{one.pattern})" for one in SIGNATURES if not one.pattern.startswith(_IGNORE)))
_FOLDED = [one.pattern.removeprefix(_IGNORE) for one in SIGNATURES if one.pattern.startswith(_IGNORE)]
_ANY_FOLDED = re.compile("|".join(f"(?:{one})" for one in _FOLDED), re.IGNORECASE)
# severity words: what no signature knows, but a reader would look at
_SEVERE = re.compile(
    r"(?i)\b(?:error|exception|fatal|fail(?:ed|ure)?|abort(?:ed|ing)?|panic|corrupt(?:ed|ion)?|crash(?:ed)?|killed|denied)\b"
)


def recognize(text: str) -> Signature | None:
    """The signature of a line's text (without its prefix), or None."""
    if _ANY.search(text) is None and _ANY_FOLDED.search(text) is None:
        return None
    return next((one for one, pattern in zip(SIGNATURES, _ONE, strict=True) if pattern.search(text)), None)


def severe(text: str) -> bool:
    """Whether a line that no signature knows has a word for something that went wrong."""
    return _SEVERE.search(text) is not None
