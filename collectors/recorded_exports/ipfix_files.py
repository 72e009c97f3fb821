"""Read IPFIX files (RFC 5655): a sequence of messages, plain, .gz or .zst."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from collectors.columns.record import Flows, concatenated
from collectors.exports.datagrams import Datagrams
from collectors.exports.netflow.netflow import NetflowDecoder
from collectors.exports.records.elements import DEFAULT, Elements
from collectors.exports.records.message_loops import IPFIX_HEAD
from collectors.exports.records.templates import IPFIX
from collectors.files.compression import Stream, Unpacked, explain_error, open_octets
from collectors.packets.plain_decoder import DecodeError

SECOND = 1_000_000_000


def is_ipfix(head: bytes) -> bool:
    """Check whether the first 16 octets of a file, decompressed, are the header of an IPFIX message."""
    return len(head) >= IPFIX_HEAD and int.from_bytes(head[:2], "big") == IPFIX and _length(head, 0) >= IPFIX_HEAD


def read(
    path: str | Path, *, exporter: str | None = None, elements: Elements = DEFAULT, batch_octets: int = 1 << 22
) -> tuple[Flows, Counter[str], list[str]]:
    """Read the flow records of a file by start, the tally of its decoder (see `counter_names`), and warnings of damage.

    The exporter is the file's stem by default. A record without a time has the time of its message. A truncated or damaged file
    gives the records before that point, and a warning with the offset. Raises DecodeError for a file that is no IPFIX file or
    cannot be read.
    """
    name = Path(path).name.split(".")[0] if exporter is None else exporter
    decoder, warnings = NetflowDecoder(elements=elements), list[str]()
    try:
        with Path(path).open("rb") as file:
            batches = _batches(str(path), file, name, warnings, batch_octets)
            flows = [decoder.decode(batch) for batch in batches]
    except OSError as error:
        raise DecodeError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    whole = concatenated(flows or [decoder.decode(Datagrams.of([]))])
    return whole.take(whole.start_ns.argsort(kind="stable")), decoder.tally, warnings


def _length(octets: bytes, at: int) -> int:
    return int.from_bytes(octets[at + 2 : at + 4], "big")


def _batches(path: str, file: BinaryIO, name: str, warnings: list[str], batch_octets: int) -> Iterator[Datagrams]:
    stream = Stream(open_octets(file))
    stream.advance(0, max(IPFIX_HEAD, batch_octets))
    if not is_ipfix(bytes(stream.buffer[: min(stream.end, IPFIX_HEAD)])):
        why = f" ({explain_error(stream.damage)})" if stream.damage else ""
        first = bytes(stream.buffer[: min(stream.end, 4)]).hex(" ")
        raise DecodeError(f"{path}: not an IPFIX file (starts with {first}; an IPFIX message starts with 00 0a){why}")
    sound = True
    while sound and stream.end:
        messages, at, need = [], 0, IPFIX_HEAD
        while sound and need <= stream.end - at:
            head = bytes(stream.buffer[at : at + IPFIX_HEAD])
            sound, need = is_ipfix(head), _length(head, 0)
            if sound and need <= stream.end - at:
                messages.append((name, bytes(stream.buffer[at : at + need]), _seconds(head)))
                at, need = at + need, IPFIX_HEAD
        if messages:
            yield Datagrams.of(messages)
        if stream.ended:
            break
        stream.advance(at, max(need, batch_octets))
        at = 0
    packed = " of the uncompressed data" if isinstance(stream.source, Unpacked) else ""
    place = f"{path}: offset {stream.start + at}{packed}"
    if not sound:
        warnings.append(f"{place}: no IPFIX message starts here; the rest of the file is not read")
    elif stream.damage and not isinstance(stream.damage, EOFError):
        warnings.append(f"{place}: cannot be read: {explain_error(stream.damage)}; the rest of the file is not read")
    elif stream.damage or at < stream.end:
        warnings.append(f"{place}: the file ends inside this message; the records before it were read")


def _seconds(head: bytes) -> int:
    return int.from_bytes(head[4:8], "big") * SECOND
