"""Write files that appear whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def written(path: str) -> Iterator[str]:
    """A path to write to; what was written takes the place of `path` at once, and only if nothing failed.

    The path given out ends like `path`, so that its format can be told. What is no regular file (a pipe, /dev/null) is
    written directly.
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
