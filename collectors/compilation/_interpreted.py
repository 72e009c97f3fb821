"""Run compiled loops as plain Python: twins of the same functions, which call each other.

Two differences between compiled and plain code are removed here. Compiled code has rows of structured arrays as records with
attributes (`Rows`). Its 64-bit integers wrap around; NumPy's do too, and its warnings are switched off.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import cache
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

OURS = ("collectors.", "prism.", "tests.")  # modules whose loops have twins


class Rows:
    """Rows of a structured array as objects with an attribute per field.

    A row is read at first access. `store` writes all of them back. Fields of 64 unsigned bits are `numpy.uint64`, other
    integers are Python's.
    """

    __slots__ = ("array", "kind", "known")

    def __init__(self, array: NDArray[Any]) -> None:
        self.array, self.kind, self.known = array, _kind(array.dtype), dict[int, Any]()

    def __len__(self) -> int:
        return len(self.array)

    def __getitem__(self, index: Any) -> Any:
        at = int(index)
        row = self.known.get(at)
        if row is None:
            row = self.known[at] = self.kind(self.array[at])
        return row

    def __setitem__(self, index: Any, row: Any) -> None:
        self[index].assign(row)

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(len(self.array)))

    def store(self) -> None:
        """Write the accessed rows back to the array."""
        for at, row in self.known.items():
            row.store(self.array, at)


@cache
def _kind(layout: np.dtype[Any]) -> type[Any]:
    """Make the class of rows of a structured type."""
    names = tuple(layout.names or ())
    fields = [(layout[name], layout[name].kind, layout[name].itemsize) for name in names]
    wide = tuple(name for name, (_, kind, size) in zip(names, fields, strict=True) if kind == "u" and size == 8)
    masks = tuple((1 << 8 * size) - 1 if kind == "u" else 0 for _, kind, size in fields)

    class Row:
        """One row."""

        __slots__ = names

        def __init__(self, values: Any) -> None:
            for name, value in zip(names, values.item(), strict=True):
                setattr(self, name, value)
            for name in wide:
                setattr(self, name, np.uint64(getattr(self, name)))

        def assign(self, other: Any) -> None:
            """Copy the values of another row."""
            for name in names:
                setattr(self, name, getattr(other, name))

        def store(self, array: NDArray[Any], at: int) -> None:
            """Write this row to an array. A number that is too wide for its field loses its upper bits, as in compiled code."""
            values = (getattr(self, name) for name in names)
            array[at] = tuple(int(value) & mask if mask else value for value, mask in zip(values, masks, strict=True))

    return Row


def interpret(function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Call the plain twin of a loop with the arguments of compiled code; arrays are changed in the same way."""
    rows: list[Rows] = []
    given = tuple(_given(a, rows) for a in args)
    try:
        with np.errstate(all="ignore"):
            return plain(function)(*given, **options)
    finally:
        for one in rows:
            one.store()


def _given(argument: Any, rows: list[Rows]) -> Any:
    """Convert an argument for plain code: structured arrays become `Rows`, which are added to `rows`."""
    if isinstance(argument, np.ndarray) and argument.dtype.names:
        rows.append(Rows(argument))
        return rows[-1]
    if isinstance(argument, tuple):
        parts = [_given(part, rows) for part in argument]
        if all(new is old for new, old in zip(parts, argument, strict=True)):
            return argument
        return type(argument)(*parts) if hasattr(argument, "_fields") else tuple(parts)
    return argument


_making = threading.RLock()
_plain: dict[Callable[..., Any], Callable[..., Any]] = {}
_names: dict[int, dict[str, Any]] = {}


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make the plain twin of a function: called loops are plain too, instructions have Python equivalents."""
    with _making:  # an unfinished namespace contains compiled loops
        found = _plain.get(function)
        if found is None:
            made = FunctionType(function.__code__, _namespace(function.__globals__), function.__name__, function.__defaults__)
            made.__kwdefaults__ = function.__kwdefaults__
            found = _plain[function] = made
        return found


def _namespace(names: dict[str, Any]) -> dict[str, Any]:
    """Copy the names of a module with plain twins instead of loops; the same for imported modules of ours."""
    found = _names.get(id(names))
    if found is None:
        found = _names[id(names)] = dict(names)
        for name, value in names.items():
            function = getattr(value, "py_func", None)
            if function is not None:
                found[name] = plain(function)
            elif hasattr(type(value), "plain_twin"):
                found[name] = value.plain_twin
            elif isinstance(value, ModuleType) and value.__name__.startswith(OURS):
                found[name] = _Module()
                found[name].__dict__ = _namespace(vars(value))
    return found


class _Module:
    """A module of ours with plain twins instead of loops."""
