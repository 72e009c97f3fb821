"""Let compiled code read a file on disk: a buffer, and the position in the file."""

from __future__ import annotations

import os
import stat
from typing import BinaryIO

import numpy as np

from collectors.columns.record import Ints
from collectors.files import compression
from collectors.files.compression import Octets, Stream, is_compressed
from collectors.packets.frame_batch import PAD

READ_OCTETS = 1 << 17  # octets per read: fits into a core's own cache
FILE, ADDRESS, ROOM, AT, END, FROM, LAST = range(7)  # fields of a window


class Plain:
    """A file on disk, read from position `at`, which is updated. Raises OSError."""

    def __init__(self, file: BinaryIO, at: int) -> None:
        self.file, self.at = file, at

    def readinto1(self, room: memoryview, /) -> int:
        """Read into the buffer; return the number of octets, 0 at the end."""
        got = os.preadv(self.file.fileno(), [room], self.at)
        self.at += got
        return got


def opened(file: BinaryIO) -> Octets:
    """Open the data of a file; compression is detected by its first octets."""
    try:
        at = file.tell() if stat.S_ISREG(os.fstat(file.fileno()).st_mode) else None
    except OSError:  # in memory, or closed
        at = None
    if at is None:
        return compression.open_octets(file)
    head = file.read(4)
    file.seek(at)
    return compression.open_octets(file) if is_compressed(head) else Plain(file, at)


def window(stream: Stream, used: int, last_ns: int) -> Ints | None:
    """Describe a stream from its first unused octet for compiled code; None if that is impossible.

    Fields: file descriptor, address and size of a buffer, start and end of unread octets in it, file position after them, and
    time of the last packet (at first `last_ns`).
    """
    if not isinstance(stream.source, Plain):
        return None
    room, source = min(READ_OCTETS, len(stream.buffer) - len(PAD)), stream.source
    return np.array([source.file.fileno(), stream.address, room, used, stream.end, source.at, last_ns], np.int64)


def moved(stream: Stream, window: Ints) -> int:
    """Advance a stream to the position of its window; return the number of used octets in the buffer."""
    used, end, at = window[[AT, END, FROM]].tolist()
    if isinstance(stream.source, Plain):
        stream.start += stream.end - end + at - stream.source.at
        stream.end, stream.source.at = end, at
    return int(used)
