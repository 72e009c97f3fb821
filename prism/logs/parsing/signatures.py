"""Match lines with the library of causes, signatures.csv. The first matching signature counts.

`role`: *root* names the broken part; *symptom* comes from waiting ranks or launchers; *context* accompanies a failure and
proves nothing; *milestone* marks a stage of the job. `strength` orders roots: a kernel that lost a GPU outweighs the Python
error that follows. docs/logs.md explains the library.
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
    """A signature: name, cause, role, and the expression that finds it in the text of a line."""

    name: str
    cause: str
    role: Role
    strength: int
    pattern: str


def load(text: str) -> tuple[Signature, ...]:
    """Load the signatures of a table with columns name, cause, role, strength, pattern.

    Raises ValueError with the row's name.
    """
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
# severity words, for lines without a known signature
_SEVERE = re.compile(
    r"(?i)\b(?:error|exception|fatal|fail(?:ed|ure)?|abort(?:ed|ing)?|panic|corrupt(?:ed|ion)?|crash(?:ed)?|killed|denied)\b"
)


def recognize(text: str) -> Signature | None:
    """Find the signature of a line's text (without its prefix), or None."""
    if _ANY.search(text) is None and _ANY_FOLDED.search(text) is None:
        return None
    return next((one for one, pattern in zip(SIGNATURES, _ONE, strict=True) if pattern.search(text)), None)


def is_severe(text: str) -> bool:
    """Check whether a line without a signature contains a severity word."""
    return _SEVERE.search(text) is not None
