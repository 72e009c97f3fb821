"""Judge damaged records and blocks that need more octets than one batch holds."""

from __future__ import annotations

from collectors.captures.record_framing import Records
from collectors.captures.resynchronisation import MORE, SKIP, find_block, find_record, judge_record
from collectors.files.compression import Stream


def grow(stream: Stream, used: int, step: int) -> None:
    """Drop the used octets, and read as many more as are left, at least a `step`."""
    stream.advance(used, max(2 * (stream.end - used), step) + 64)


def record_at(stream: Stream, used: int, step: int, how: Records, last_ns: int) -> tuple[int, int, int, int]:
    """Judge the record at `used`; see `resynchronisation.judge_record`.

    Returns also its position, the next position and its time.

    If the file position differs from the expected one, the record was left for a long search.
    """
    began, lost = stream.start + used, False
    while True:
        if lost:
            found = find_record(stream.address, used, stream.end, stream.end, how, last_ns, stream.ended)
        else:
            found = judge_record(stream.address, used, stream.end, how, last_ns, stream.ended)
        verdict, place, time_ns = found
        if verdict != MORE:
            return verdict, began - stream.start, place, time_ns
        lost |= place > used
        grow(stream, place, step)
        used = 0


def block_after(stream: Stream, used: int, step: int, *, big: bool) -> tuple[bool, int]:
    """Search a sound pcapng block behind the one at `used`; return whether there is one, and its position."""
    verdict, place = MORE, used + 1
    while verdict == MORE:
        verdict, place = find_block(stream.address, place, stream.end, big, stream.ended)
        if verdict == MORE:
            grow(stream, place, step)
            place = 0
    return bool(verdict == SKIP), place
