"""Let compiled code read on in a file on disk: a buffer, and the place in the file."""

from __future__ import annotations

import os
import stat
from typing import BinaryIO

import numpy as np

from collectors.columns.record import Ints
from collectors.files import compression
from collectors.files.compression import Octets, Stream, is_packed
from collectors.packets.frame_batch import PAD

AT_ONCE = 1 << 17  # octets that a window reads at once: what stays in the cache that a processor has for itself
FILE, ADDRESS, ROOM, AT, END, FROM, LAST = range(7)  # of a window


class Plain:
    """The octets of a file on disk from a place on, which is kept here: `at`. Raises OSError where they cannot be read."""

    def __init__(self, file: BinaryIO, at: int) -> None:
        self.file, self.at = file, at

    def readinto1(self, room: memoryview, /) -> int:
        """Fill some of the room; how much, 0 at the end."""
        got = os.preadv(self.file.fileno(), [room], self.at)
        self.at += got
        return got


def opened(file: BinaryIO) -> Octets:
    """The octets of a file, unpacked where its first ones say that they are packed."""
    try:
        at = file.tell() if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
    except OSError:  # memory, or what has been closed
        at = None
    if at is None:
        return compression.opened(file)
    head = file.read(4)
    file.seek(at)
    return compression.opened(file) if is_packed(head) else Plain(file, at)


def window(stream: Stream, used: int, last_ns: int) -> Ints | None:
    """What there is to know for reading on in a stream from the octets on that are not yet used; None where that cannot be.

    The file's descriptor, address and size of a buffer, from where to where it holds octets not yet looked at, and the place in
    the file of the first octet after these; then the time of the last packet that was read, `last_ns` at first.
    """
    if not isinstance(stream.source, Plain):
        return None
    room, source = min(AT_ONCE, len(stream.buffer) - len(PAD)), stream.source
    return np.array([source.file.fileno(), stream.address, room, used, stream.end, source.at, last_ns], np.int64)


def moved(stream: Stream, window: Ints) -> int:
    """Have a stream know how far its window was moved on; how many of the octets at hand are used."""
    used, end, at = window[[AT, END, FROM]].tolist()
    if isinstance(stream.source, Plain):
        stream.start += stream.end - end + at - stream.source.at
        stream.end, stream.source.at = end, at
    return int(used)
