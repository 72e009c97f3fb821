"""IPFIX files (RFC 5655): messages one after the other, plain, .gz or .zst."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from collectors.compression import Stream, opened
from collectors.datagrams import Datagrams
from collectors.elements import DEFAULT, Elements
from collectors.netflow import NetflowDecoder
from collectors.packet import DecodeError
from collectors.record import Flows, concatenated
from collectors.templates import IPFIX
from collectors.walks import IPFIX_HEAD

SECOND = 1_000_000_000


def is_ipfix(head: bytes) -> bool:
    """Whether the first 16 octets of a file, unpacked, are the header of an IPFIX message."""
    return len(head) >= IPFIX_HEAD and int.from_bytes(head[:2], "big") == IPFIX and _length(head, 0) >= IPFIX_HEAD


def read(
    path: str | Path, *, exporter: str | None = None, elements: Elements = DEFAULT, batch_octets: int = 1 << 22
) -> tuple[Flows, Counter[str]]:
    """The flow records of a file, by start, and the tally of its decoder (see `ledger`).

    The exporter is the file's stem unless it is given. Times that records do not tell are those of their messages. A file that
    is cut off or damaged gives what comes before; "file cut off" or "file damaged" in the tally says so. Raises DecodeError
    where it is no IPFIX file or cannot be read.
    """
    name = Path(path).name.split(".")[0] if exporter is None else exporter
    decoder = NetflowDecoder(elements=elements)
    try:
        with Path(path).open("rb") as file:
            batches = _batches(str(path), file, name, decoder.tally, batch_octets)
            flows = [decoder.decode(batch) for batch in batches]
    except OSError as error:
        raise DecodeError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    whole = concatenated(flows or [decoder.decode(Datagrams.of([]))])
    return whole.take(whole.start_ns.argsort(kind="stable")), decoder.tally


def _length(octets: bytes, at: int) -> int:
    return int.from_bytes(octets[at + 2 : at + 4], "big")


def _batches(path: str, file: BinaryIO, name: str, tally: Counter[str], batch_octets: int) -> Iterator[Datagrams]:
    stream = Stream(opened(file))
    stream.advance(0, max(IPFIX_HEAD, batch_octets))
    if not is_ipfix(bytes(stream.buffer[: min(stream.end, IPFIX_HEAD)])):
        why = f" ({stream.damage})" if stream.damage else ""
        raise DecodeError(f"{path}: no IPFIX file: starts with {bytes(stream.buffer[: min(stream.end, 4)]).hex(' ')}{why}")
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
    if not sound or (stream.damage and not isinstance(stream.damage, EOFError)):
        tally["file damaged"] += 1
    elif stream.damage or at < stream.end:
        tally["file cut off"] += 1


def _seconds(head: bytes) -> int:
    return int.from_bytes(head[4:8], "big") * SECOND
