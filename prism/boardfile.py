"""A board and its records in a file: pickled, and read back with nothing allowed but the classes a board is made of.

As Python's documentation of pickle has it ("Restricting Globals"). Who writes the file is a process that has read what a
stranger sent, so what it writes is not trusted either.
"""

from __future__ import annotations

import pickle
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from collectors import record
from prism import board, model, topology
from prism.board import Board
from prism.records import Memory

_CLASSES = {
    *(
        (model.__name__, name)
        for name, kind in vars(model).items()
        if isinstance(kind, type) and kind.__module__ == model.__name__
    ),
    *((board.__name__, name) for name in ("Board", "Case", "JobStatus", "Window")),
    *((topology.__name__, name) for name in ("Topology", "Endpoint")),
    (record.__name__, "Flows"),
    *(("numpy._core.multiarray", name) for name in ("_reconstruct", "scalar")),
    *(("numpy", name) for name in ("ndarray", "dtype")),
    ("numpy._core.numeric", "_frombuffer"),
    *(("builtins", name) for name in ("slice", "complex", "set", "frozenset", "range")),
    ("collections", "Counter"),
}
_OLD = "numpy.core."  # as NumPy 1 calls numpy._core


class Replayed(NamedTuple):
    """What a replay leaves: its board, and the records it was told from."""

    board: Board
    records: Memory


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        """The class of that name, where it is one of ours."""
        known = module.replace(_OLD, "numpy._core.")
        if (known, name) not in _CLASSES:
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a board")
        return super().find_class(module, name)


class _Writer(pickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        """Members of enumerations by their value, in all Pythons alike: some take them from their class by name."""
        return (type(obj), (obj.value,)) if isinstance(obj, Enum) else NotImplemented


def save(path: str | Path, told: Board, flows: record.Flows) -> None:
    """Write a board and its records. Raises OSError."""
    with open(path, "wb") as file:
        _Writer(file, protocol=5).dump((told, flows))


def load(path: str | Path) -> Replayed:
    """Read them back. Raises ValueError where the file holds anything else, OSError."""
    try:
        with open(path, "rb") as file:
            found = _Reader(file).load()
    except (pickle.UnpicklingError, EOFError, AttributeError, IndexError, TypeError, ImportError) as error:
        raise ValueError(f"{path}: no board: {error}") from None
    if not (isinstance(found, tuple) and len(found) == 2):
        raise ValueError(f"{path}: no board")
    told, flows = found
    if not isinstance(told, Board) or not isinstance(flows, record.Flows):
        raise ValueError(f"{path}: no board")
    return Replayed(told, Memory(flows))
