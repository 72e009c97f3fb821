"""Tell the state of the source files from which compiled code was made.

A loop contains the loops that it calls and the constants that it reads. numba looks at the loop's own file only: after an
upgrade in place it would go on with code made from the old ones. The stamp covers also what the file imports from its own
packages; of these files, those with compiled functions or constants are followed further.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGES = ("collectors", "prism")
IGNORED = ("collectors.compilation.compiled",)  # it starts compilation, and is no part of the code
COMPILING = ("from collectors.compilation.compiled import", "from collectors.compilation.primitives import")
IMPORT = re.compile(r"^from ([\w.]+) import (\([^)]*\)|[^\n]*)", re.MULTILINE)

State = tuple[str, float, int]


def source_stamp(path: str) -> tuple[State, ...]:
    """Name, time of change and size of a source file and of those that its loops are made of, in order of names."""
    found, left = set[str](), [path]
    while left:
        here = left.pop()
        if here in found:
            continue
        found.add(here)
        if here == path or _is_followed(here):
            left += _imports(here)
    return tuple(sorted(_state(one) for one in found))


@cache
def _text(path: str) -> str:
    return Path(path).read_text(encoding="utf-8")


@cache
def _state(path: str) -> State:
    state = Path(path).stat()
    return Path(path).name, state.st_mtime, state.st_size


@cache
def _is_followed(path: str) -> bool:
    return Path(path).stem == "constants" or any(line in _text(path) for line in COMPILING)


@cache
def _imports(path: str) -> tuple[str, ...]:
    return tuple(file for name in _modules(_text(path)) if (file := _file(name)) is not None)


def _modules(text: str) -> Iterator[str]:
    """Yield names of modules that a source imports from our packages, and names in them that may be modules."""
    for module, names in IMPORT.findall(text):
        if module.partition(".")[0] in PACKAGES and module not in IGNORED:
            yield module
            yield from (f"{module}.{name}" for name in re.findall(r"(?:^|[(,])\s*(\w+)", names))


@cache
def _file(module: str) -> str | None:
    package, *rest = module.split(".")
    home = getattr(sys.modules.get(package), "__file__", None)
    path = Path(home).parent.joinpath(*rest).with_suffix(".py") if home and rest else None
    return str(path) if path is not None and path.is_file() else None
