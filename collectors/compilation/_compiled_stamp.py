"""Remember on disk that all listed loops are compiled, so that the next start of a program need not check each of them.

The stamp holds a digest of what compiled code depends on, and the index files of the code. Without one of these files, or with
another digest, loops are checked again.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numba

from collectors.compilation import compiled
from collectors.compilation.source_stamps import source_stamp

FILE = "loops.json"
STAMP = "loops-compiled.{packages}.{version}.json"


def write_stamp(loops: Sequence[compiled.Loop], packages: Sequence[str]) -> None:
    """Write that these loops, all that are listed for the packages, are compiled. Without room on disk nothing is written."""
    if not loops:
        return
    path = _path(loops[0], packages)
    told = {"digest": digest(packages), "files": sorted({str(_index(loop)) for loop in loops})}
    try:
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(told), encoding="utf-8")
        part.replace(path)
    except OSError:
        return


def has_stamp(first: compiled.Loop, packages: Sequence[str]) -> bool:
    """Check whether all listed loops of the packages are known to be compiled; `first` is the first of the list."""
    try:
        told = json.loads(_path(first, packages).read_text(encoding="utf-8"))
        return bool(told["digest"] == digest(packages) and all(map(os.path.exists, told["files"])))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def digest(packages: Sequence[str]) -> str:
    """Digest of the versions, the processor, the lists of loops, and the state of the source files."""
    known: list[Any] = [sys.version, numba.__version__, llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()]
    for package in packages:
        text = resources.files(package).joinpath(FILE).read_text(encoding="utf-8")
        known += [package, text, *_sources(package, json.loads(text)["loops"])]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()


def _sources(package: str, loops: Iterable[str]) -> list[Any]:
    root = Path(str(resources.files(package)))
    modules = dict.fromkeys(place.rpartition(".")[0] for place in loops)
    return [source_stamp(str(root.joinpath(*module.split(".")[1:]).with_suffix(".py"))) for module in modules]


def _path(loop: compiled.Loop, packages: Sequence[str]) -> Path:
    name = STAMP.format(packages="-".join(packages), version=sys.implementation.cache_tag)
    return Path(loop._cache._cache_file._cache_path, name)


def _index(loop: compiled.Loop) -> Path:
    file = loop._cache._cache_file
    return Path(file._cache_path, file._index_name)
