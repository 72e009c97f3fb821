"""IPFIX files (RFC 5655): messages one after the other, plain, .gz or .zst."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from collectors.compression import CHUNK, Stream, unpacked
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
    flows = [part for part in flows if len(part)] or flows[:1]
    whole = concatenated(flows)
    return whole.take(whole.start_ns.argsort(kind="stable")) if len(flows) == 1 else whole, decoder.tally


def _length(octets: bytes, at: int) -> int:
    return int.from_bytes(octets[at + 2 : at + 4], "big")


def _batches(path: str, file: BinaryIO, name: str, tally: Counter[str], batch_octets: int) -> Iterator[Datagrams]:
    stream = Stream(unpacked(iter(lambda: file.read(CHUNK), b"")))
    stream.advance(0, batch_octets)
    if not is_ipfix(stream.buffer[: min(stream.end, IPFIX_HEAD)]):
        why = f" ({stream.damage})" if stream.damage else ""
        raise DecodeError(f"{path}: no IPFIX file: starts with {bytes(stream.buffer[: min(stream.end, 4)]).hex(' ')}{why}")
    at = 0
    while at < stream.end:
        messages: list[tuple[str, bytes, int]] = []
        need = 0
        while stream.end - at >= IPFIX_HEAD:
            head = bytes(stream.buffer[at : at + IPFIX_HEAD])
            if not is_ipfix(head):
                break
            if _length(head, 0) > stream.end - at:
                need = _length(head, 0)
                break
            messages.append((name, bytes(stream.buffer[at : at + _length(head, 0)]), _seconds(head)))
            at += len(messages[-1][1])
        if messages:
            yield Datagrams.of(messages)
        left = stream.end - at
        stream.advance(at, max(need, batch_octets))
        at = 0
        if stream.end == left:  # nothing more comes
            break
        if left >= IPFIX_HEAD and not need:
            break
    if stream.end:
        tally["file cut off" if stream.ended and _whole_head(stream) else "file damaged"] += 1
    elif stream.damage:
        tally["file damaged"] += 1


def _seconds(head: bytes) -> int:
    return int.from_bytes(head[4:8], "big") * SECOND


def _whole_head(stream: Stream) -> bool:
    head = bytes(stream.buffer[: min(stream.end, IPFIX_HEAD)])
    return len(head) < IPFIX_HEAD or is_ipfix(head)
