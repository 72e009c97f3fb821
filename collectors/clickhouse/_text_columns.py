"""Encode columns with few distinct texts for the native protocol without one Python object per row."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa


class Texts(np.ndarray):  # the driver accepts arrays, and passes a subclass on to the writer of a column
    """A column of texts: codes into `words`."""

    words: list[str]


def texts(values: pa.DictionaryArray) -> Any:
    """Make a column for the patched driver; a column of objects if this version of the driver cannot be patched."""
    if not _patch_driver("write_column", _write):
        return np.asarray(values.dictionary.to_numpy(zero_copy_only=False)[values.indices.to_numpy()])
    found = values.indices.to_numpy().view(Texts)
    found.words = values.dictionary.to_pylist()
    return found


def read_texts_as_objects() -> None:
    """Patch the driver to read texts as objects: texts of fixed width are most of the cost of an answer."""
    _patch_driver("read_column", _read)


def _patch_driver(name: str, ours: Callable[..., Any]) -> bool:
    """Patch the driver's function `name` with `ours`, which also receives the original; return whether that worked."""
    from clickhouse_driver.streams import native

    theirs = getattr(native, name, None)
    if theirs is not None and not isinstance(theirs, partial):
        setattr(native, name, partial(ours, theirs))
    return theirs is not None


def encoded(column: Texts) -> bytes:
    """Encode each row's text after its length (ClickHouse's String: the length as LEB128)."""
    words = [_length(len(word)) + word for word in map(str.encode, column.words)]
    whole = pa.array(words, pa.large_binary()).take(pa.array(np.asarray(column)))
    return bytes(memoryview(whole.buffers()[2])) if len(column) else b""


def _write(theirs: Any, context: Any, name: str, kind: str, items: Any, buffer: Any, **rest: Any) -> None:
    if isinstance(items, Texts) and kind == "String":
        buffer.write(encoded(items))
    else:
        theirs(context, name, kind, items, buffer, **rest)


def _read(theirs: Any, context: Any, kind: str, count: int, buffer: Any, **rest: Any) -> Any:
    arrays = context.client_settings["use_numpy"] if rest.get("use_numpy") is None else rest["use_numpy"]
    if kind != "String" or not arrays or rest.get("has_custom_serialization"):
        return theirs(context, kind, count, buffer, **rest)
    found = np.empty(count, object)
    found[:] = buffer.read_strings(count, encoding="utf-8")
    return found


def _length(number: int) -> bytes:
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])
