"""Define how values of each type are packed into columns, by type hint; see `packing`."""

from __future__ import annotations

import hashlib
import math
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from functools import lru_cache
from itertools import chain, pairwise
from typing import Any, Literal, Protocol, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

DEPTH = 16  # levels of a value of type `Any`


@dataclass
class Written:
    """Output of packing: arrays in order, distinct texts with their index, values of type `Any`."""

    arrays: list[NDArray[Any]] = field(default_factory=list)
    texts: dict[str, int] = field(default_factory=dict)
    values: list[Any] = field(default_factory=list)

    def put(self, values: Any, dtype: str) -> None:
        """Append one array of a number type."""
        self.arrays.append(np.ascontiguousarray(values, dtype))


@dataclass
class Source:
    """Input of unpacking: arrays and values in the order in which they were written."""

    arrays: Iterator[NDArray[Any]]
    texts: Sequence[str]
    values: Iterator[Any]

    def get(self, dtype: str, count: int | None = None) -> NDArray[Any]:
        """Return the next array. Raises ValueError if its type or its length differs."""
        found = next(self.arrays, None)
        if found is None or found.dtype != np.dtype(dtype) or (count is not None and len(found) != count):
            raise ValueError(f"an array of {count} × {dtype} is missing")
        return found

    def sizes(self, count: int) -> list[int]:
        """Number of parts of each of `count` values. Raises ValueError if one is negative."""
        found = self.get("<i8", count)
        if len(found) and found.min() < 0:
            raise ValueError("a negative length")
        return [int(size) for size in found.tolist()]


class Plan(Protocol):
    """Plan of a type: write and read all values of a column at once."""

    def write(self, values: Sequence[Any], to: Written) -> None:
        """Write the values."""

    def read(self, count: int, source: Source) -> list[Any]:
        """Read `count` values. Raises one of `packing.BROKEN`."""


@dataclass(frozen=True)
class Number:
    """int, float or bool."""

    kind: type
    dtype: str

    def write(self, values: Sequence[Any], to: Written) -> None:
        """See `Plan`."""
        to.put([self.kind(value) for value in values], self.dtype)

    def read(self, count: int, source: Source) -> list[Any]:
        """See `Plan`."""
        found = source.get(self.dtype, count).tolist()
        return [bool(value) for value in found] if self.kind is bool else found


@dataclass(frozen=True)
class Text:
    """str: an index into the table of texts."""

    def write(self, values: Sequence[Any], to: Written) -> None:
        """See `Plan`."""
        texts = to.texts
        to.put([texts.setdefault(str(value), len(texts)) for value in values], "<i4")

    def read(self, count: int, source: Source) -> list[Any]:
        """See `Plan`."""
        codes = source.get("<i4", count)
        if len(codes) and codes.min() < 0:
            raise ValueError("a negative code of a text")
        return list(map(source.texts.__getitem__, codes.tolist()))


@dataclass(frozen=True)
class Choice:
    """A literal or a member of an enumeration: its index."""

    options: tuple[Any, ...]

    def write(self, values: Sequence[Any], to: Written) -> None:
        """See `Plan`."""
        to.put([self.options.index(value) for value in values], "<u1")

    def read(self, count: int, source: Source) -> list[Any]:
        """See `Plan`."""
        return list(map(self.options.__getitem__, source.get("<u1", count).tolist()))


@dataclass(frozen=True)
class Free:
    """A mapping of plain values: JSON."""

    def write(self, values: Sequence[Any], to: Written) -> None:
        """See `Plan`."""
        to.values += map(dict, values)

    def read(self, count: int, source: Source) -> list[Any]:
        """See `Plan`."""
        found = [value for value, _ in zip(source.values, range(count), strict=False)]
        if len(found) != count or not all(isinstance(value, dict) and _is_shallow(value) for value in found):
            raise ValueError("a mapping is missing or nested too deeply")
        return found


@dataclass(frozen=True)
class Array:
    """An array of numbers, of any shape of up to three dimensions."""

    dtype: str

    def write(self, values: Sequence[Any], to: Written) -> None:
        """See `Plan`."""
        to.put([value.ndim for value in values], "<u1")
        to.put(list(chain.from_iterable(value.shape for value in values)), "<i8")
        whole = values[0].ravel() if len(values) == 1 else np.concatenate([value.ravel() for value in values] or [[]])
        to.put(whole, self.dtype)

    def read(self, count: int, source: Source) -> list[Any]:
        """See `Plan`."""
        dimensions = source.get("<u1", count)
        if len(dimensions) and dimensions.max() > 3:
            raise ValueError("an array of more than three dimensions")
        ends = np.cumsum(dimensions, dtype=np.int64).tolist()
        lengths = source.sizes(ends[-1] if ends else 0)
        shapes = [tuple(lengths[low:high]) for low, high in pairwise([0, *ends])]
        places = places_of([math.prod(shape) for shape in shapes])
        whole = source.get(self.dtype, places[-1])
        return [whole[low:high].reshape(shape) for (low, high), shape in zip(pairwise(places), shapes, strict=True)]


@dataclass(frozen=True)
class Many:
    """A tuple of any length."""

    of: Plan

    def write(self, values: Sequence[Any], to: Written) -> None:
        """See `Plan`."""
        to.put([len(value) for value in values], "<i8")
        self.of.write(list(chain.from_iterable(values)), to)

    def read(self, count: int, source: Source) -> list[Any]:
        """See `Plan`."""
        places = places_of(source.sizes(count))
        found = self.of.read(places[-1], source)
        return [tuple(found[low:high]) for low, high in pairwise(places)]


@dataclass(frozen=True)
class Named:
    """A mapping from texts."""

    of: Plan

    def write(self, values: Sequence[Any], to: Written) -> None:
        """See `Plan`."""
        Many(Text()).write([list(value) for value in values], to)
        self.of.write(list(chain.from_iterable(value.values() for value in values)), to)

    def read(self, count: int, source: Source) -> list[Any]:
        """See `Plan`."""
        keys = Many(Text()).read(count, source)
        places = places_of([len(own) for own in keys])
        found = self.of.read(places[-1], source)
        return [dict(zip(own, found[low:high], strict=True)) for own, (low, high) in zip(keys, pairwise(places), strict=True)]


@dataclass(frozen=True)
class OptionalPlan:
    """A value or None."""

    of: Plan

    def write(self, values: Sequence[Any], to: Written) -> None:
        """See `Plan`."""
        to.put([value is not None for value in values], "<u1")
        self.of.write([value for value in values if value is not None], to)

    def read(self, count: int, source: Source) -> list[Any]:
        """See `Plan`."""
        there = source.get("<u1", count).astype(np.bool_).tolist()
        found = iter(self.of.read(sum(there), source))
        return [next(found) if known else None for known in there]


@dataclass(frozen=True)
class Record:
    """A dataclass, a named tuple or a tuple of fixed length: a column per field."""

    kind: Any
    names: tuple[str, ...]
    parts: tuple[Plan, ...]

    def write(self, values: Sequence[Any], to: Written) -> None:
        """See `Plan`."""
        for i, (name, part) in enumerate(zip(self.names, self.parts, strict=True)):
            part.write([getattr(value, name) if name else value[i] for value in values], to)

    def read(self, count: int, source: Source) -> list[Any]:
        """See `Plan`."""
        columns = [part.read(count, source) for part in self.parts]
        rows = zip(*columns, strict=True)
        if self.kind is tuple:
            return list(rows)
        return [self.kind(**dict(zip(self.names, row, strict=True))) for row in rows]


NUMBERS = {int: Number(int, "<i8"), float: Number(float, "<f8"), bool: Number(bool, "<u1")}


@lru_cache(maxsize=256)
def plan(hint: Any) -> Plan:
    """Build the plan of a type hint. Raises TypeError if values of that type cannot be packed."""
    if hint in NUMBERS:
        return NUMBERS[hint]
    if hint is str:
        return Text()
    if isinstance(hint, type) and get_origin(hint) is None:
        return _plan_of_class(hint)
    origin, args = get_origin(hint), get_args(hint)
    if origin is Literal:
        return Choice(args)
    if origin is np.ndarray:
        return Array(np.dtype(get_args(args[1])[0]).newbyteorder("<").str)
    if origin in (tuple, Sequence):  # a sequence is read as a tuple
        many = origin is Sequence or args[1:] == (...,)
        return Many(plan(args[0])) if many else Record(tuple, ("",) * len(args), tuple(map(plan, args)))
    if origin is Mapping and args[0] is str:
        return Free() if args[1] is Any else Named(plan(args[1]))
    if origin in (Union, types.UnionType) and args[1:] == (type(None),):
        return OptionalPlan(plan(args[0]))
    raise TypeError(f"values of type {hint} cannot be packed")


def _plan_of_class(kind: type) -> Plan:
    if issubclass(kind, Enum):
        return Choice(tuple(kind))
    hints = get_type_hints(kind)
    names = tuple(one.name for one in fields(kind) if one.init) if is_dataclass(kind) else getattr(kind, "_fields", ())
    if not names:
        raise TypeError(f"values of type {kind} cannot be packed")
    return Record(kind, names, tuple(plan(hints[name]) for name in names))


@lru_cache(maxsize=64)
def signature(hint: Any) -> str:
    """16 hex digits that change with the fields of a type or of its nested types."""
    return hashlib.blake2s(repr(plan(hint)).encode(), digest_size=8).hexdigest()


def places_of(sizes: Sequence[int]) -> list[int]:
    """Begin and end of consecutive parts of given sizes."""
    out = [0]
    for size in sizes:
        out.append(out[-1] + size)
    return out


def _is_shallow(value: Any, depth: int = DEPTH) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return depth > 0 and all(_is_shallow(one, depth - 1) for one in inner)
