"""Decide the cause of a failure from its event and the lines around it on the same node."""

from __future__ import annotations

import re
from collections.abc import Sequence

from prism.logs.parsing.log_scanner import Event

_STORAGE = re.compile(
    r"(?i)checkpoint|ckpt|storage|torch/serialization|save_|torch\.save|s3|boto|nfs|lustre|gpfs|fsspec|\bPUT\b"
)
_DATA = re.compile(r"(?im)^\s*File .*(?:data_?loader|dataset|collate|tokeniz|\bdata/|sampler)")
FRAMES = 6  # the innermost calls show the activity


def cause_of(event: Event, around: Sequence[Event]) -> tuple[str, str]:
    """Return the cause and the deciding signature for the strongest root of a node.

    The place of a Python error is more specific than its type: a refused connection while a checkpoint is saved is storage; a
    KeyError in a collate function is data.
    """
    own = event.signature
    if own is None:
        return "unknown", "no signature"
    inner = "\n".join(event.frames[-2 * FRAMES :])
    if own.name in ("connection failed", "exception") and _STORAGE.search(inner):
        return "storage", f"{own.name}, in storage"
    if own.name == "file missing" and re.search(r"(?i)checkpoint|ckpt", event.text):
        return "storage", "file missing, of a checkpoint"
    if own.name in ("Python error", "exception") and _DATA.search(inner):
        return "data", f"{own.name}, in the data loader"
    killed = any(one.signature is not None and one.signature.name == "host out of memory" for one in around)
    if own.cause == "killed" and killed:
        return "out of memory", "host out of memory"
    return own.cause, own.name
