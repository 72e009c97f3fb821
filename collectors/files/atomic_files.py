"""Write files atomically."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_path(path: str) -> Iterator[str]:
    """Yield a temporary path; it replaces `path` at the end, only if nothing failed.

    The temporary path has the same suffix, which decides the format. Anything but a regular file (a pipe, /dev/null) is written
    directly.
    """
    target = Path(path)
    if target.exists() and not target.is_file():
        yield path
        return
    target = target.resolve()
    handle, name = tempfile.mkstemp(prefix=".", suffix=f".{target.name}", dir=target.parent)
    os.close(handle)
    try:
        yield name
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
