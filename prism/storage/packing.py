"""Pack frozen dataclasses and their arrays into plain octets, and read them back strictly by their type hints.

The format: a header (magic, lengths, CRC-32), a JSON document, and arrays of numbers, each padded to 8 octets. The document
names the schema, the type and length of each array, all distinct texts, and the values of type `Any`. Values of one type are
written as columns, in the order of the hints, so the file holds no names of classes or functions. Reading creates only what
the hints name. Its memory is bounded by a constant times the number of octets.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prism.storage._packing_plans import Source, Written, plan, signature

MAGIC = b"PRISMPK1"
HEADER = struct.Struct("<8sQQI")  # magic, octets of the document, octets of the arrays, crc32 of both
DOCUMENT = 16 << 20  # octets of the document at most
PAD = 8
KNOWN = {np.dtype(name).str: np.dtype(name) for name in ("<i1", "<i2", "<i4", "<i8", "<u1", "<u2", "<u4", "<u8", "<f4", "<f8")}
BROKEN = (ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError, struct.error)


def packed(value: Any, hint: Any, schema: str) -> list[Any]:
    """Pack a value of a type into pieces of octets of the format. Raises ValueError if there is too much text."""
    to = Written()
    plan(hint).write([value], to)
    header = {
        "schema": schema,
        "signature": signature(hint),
        "arrays": [[array.dtype.newbyteorder("<").str, array.size] for array in to.arrays],
        "texts": list(to.texts),
        "values": to.values,
    }
    document = json.dumps(header, default=_plain, separators=(",", ":")).encode()
    document += b" " * (-(HEADER.size + len(document)) % PAD)
    if len(document) > DOCUMENT:
        raise ValueError(f"{len(document) >> 20} MiB of text; at most {DOCUMENT >> 20} MiB are kept")
    pieces: list[Any] = []
    for array in to.arrays:
        pieces += [array.reshape(-1).view(np.uint8).data, bytes(-array.nbytes % PAD)]
    crc = zlib.crc32(document)
    for piece in pieces:
        crc = zlib.crc32(piece, crc)
    return [HEADER.pack(MAGIC, len(document), sum(map(len, pieces)), crc), document, *pieces]


def unpacked(octets: NDArray[np.uint8], hint: Any, schema: str) -> Any:
    """Unpack a value of a type from uint8[n]; its arrays are views. Raises ValueError for anything else."""
    try:
        return _unpacked(octets, hint, schema)
    except BROKEN as error:
        raise ValueError(f"no {schema}: {error}" if str(error) else f"no {schema}") from None


def _unpacked(octets: NDArray[np.uint8], hint: Any, schema: str) -> Any:
    magic, long, rest, crc = HEADER.unpack(octets[: HEADER.size].tobytes())
    if magic != MAGIC or long > DOCUMENT or HEADER.size + long + rest != len(octets):
        raise ValueError("it has another format or is cut")
    if zlib.crc32(octets[HEADER.size :].data) != crc:
        raise ValueError("its checksum is wrong")
    document = json.loads(octets[HEADER.size : HEADER.size + long].tobytes().decode())
    if document["schema"] != schema or document["signature"] != signature(hint):
        raise ValueError(f"it has the schema {str(document['schema'])[:40]!r} of another version")
    json.dumps(
        [document["texts"], document["values"]], ensure_ascii=False
    ).encode()  # texts are Unicode without lone surrogates
    texts = document["texts"]
    if not isinstance(texts, list) or not all(type(text) is str for text in texts):
        raise ValueError("its table of texts is none")
    source = Source(_arrays(octets, HEADER.size + long, document["arrays"]), texts, iter(list(document["values"])))
    (found,) = plan(hint).read(1, source)
    if next(source.arrays, None) is not None or next(source.values, None) is not None:
        raise ValueError("it holds more than it should")
    return found


def _arrays(octets: NDArray[np.uint8], at: int, lengths: Sequence[Any]) -> Iterator[NDArray[Any]]:
    for name, count in lengths:
        dtype = KNOWN[name]
        if type(count) is not int or count < 0 or at + count * dtype.itemsize > len(octets):
            raise ValueError("an array is longer than the file")
        end = at + count * dtype.itemsize
        yield octets[at:end].view(dtype)
        at = end + -end % PAD


def _plain(value: Any) -> Any:
    """Convert NumPy numbers and arrays, and sets, for JSON."""
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    return sorted(value) if isinstance(value, set | frozenset) else str(value)
