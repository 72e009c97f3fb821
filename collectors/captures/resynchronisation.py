"""Decide about an implausible pcap record: read it, correct its time or length, or skip it. Compiled.

A position is trusted if the headers of two records follow it, with valid lengths and at least one octet each. Payload that is
itself a pcap may look like that, so records are searched only after a damaged header, and their times must be close to the last
valid one.
"""

from __future__ import annotations

from typing import Any

from collectors.captures.pcapng import SECTION
from collectors.captures.record_framing import UNKNOWN_NS, is_far, time_of
from collectors.compilation.primitives import compiled, number, part

DECRYPTION, CUSTOM, CUSTOM_LOCAL = 10, 0x0BAD, 0x40000BAD  # types of blocks, besides 1 to 6 and those of sections
LEAST_BLOCK, MOST_BLOCK = 12, 1 << 20  # octets of a block that is searched for
READ, SKIP, MORE, END = range(4)  # read up to a position, skip to a position, more octets are needed, nothing more is found
_NO, _YES, _MAYBE = range(3)
DEPTH = 2  # headers that must follow


@compiled
def judge_record(buffer: int, at: int, end: int, how: Any, last_ns: int, ended: bool) -> Any:
    """Judge the record at `at`: `READ` to `END`, the position of the next one, and its time.

    `how`: see `record_framing.Records`. `last_ns`: time of the previous record. `ended`: the file ends at `end`.
    """
    header, big, _, limit, _ = how
    if at + header > end:
        return END if ended else MORE, at, last_ns
    captured = number(buffer + at + 8, big)
    time_ns, _ = time_of(buffer, at, how, last_ns)
    after = at + header + captured
    odd = captured > limit or (last_ns != UNKNOWN_NS and is_far(time_ns, last_ns))
    follows = _NO
    if captured <= limit:
        if after > end and not ended:
            return MORE, at, last_ns
        follows = _followed(buffer, after, end, how, ended) if after <= end else _NO
        if follows == _MAYBE:
            return MORE, at, last_ns
        if follows == _YES:
            return READ, after, _settled(buffer, after, end, how, time_ns, last_ns)
    if odd:
        return find_record(buffer, at + 1, end, end, how, last_ns, ended)
    verdict, place, _ = find_record(buffer, at + header, min(after, end), end, how, time_ns, ended)
    if verdict == MORE or (verdict == END and after > end):
        return verdict, at, last_ns
    return READ, place if verdict == SKIP else after, time_ns


@compiled
def find_record(buffer: int, at: int, stop: int, end: int, how: Any, last_ns: int, ended: bool) -> Any:
    """Find the first position in [at, stop) from which records continue at a plausible time; result as in `judge_record`.

    `SKIP`: the position is found. `MORE`: it may be from there on. `END`: there is none.
    """
    header, big, _, _, _ = how
    for place in range(at, min(stop, end - header + 1)):
        if _is_sound(buffer, place, how) and number(buffer + place + 8, big) <= number(buffer + place + 12, big):
            time_ns, impossible = time_of(buffer, place, how, last_ns)
            if not impossible and (last_ns == UNKNOWN_NS or not is_far(time_ns, last_ns)):
                follows = _followed(buffer, place + header + number(buffer + place + 8, big), end, how, ended)
                if follows == _MAYBE:
                    return MORE, place, last_ns
                if follows == _YES:
                    return SKIP, place, last_ns
    if stop <= end - header + 1 and stop < end:
        return END, stop, last_ns
    return END if ended else MORE, max(at, end - header + 1), last_ns


@part
def _is_sound(buffer: Any, at: Any, how: Any) -> Any:
    """Check whether a record can have the lengths in a header."""
    _, big, _, limit, _ = how
    captured, wire = number(buffer + at + 8, big), number(buffer + at + 12, big)
    return 0 < captured <= limit and wire <= limit


@part
def _followed(buffer: Any, at: Any, end: Any, how: Any, ended: Any) -> Any:
    """Check whether headers of sound records, or the end of the file, follow."""
    header, big, _, _, _ = how
    for depth in range(DEPTH):
        if at == end and ended:
            return _YES
        if at + header > end:
            return _MAYBE if not ended else _YES if depth else _NO
        if not _is_sound(buffer, at, how):
            return _NO
        at += header + number(buffer + at + 8, big)
    return _YES


@part
def _settled(buffer: Any, after: Any, end: Any, how: Any, time_ns: Any, last_ns: Any) -> Any:
    """Return the time of a record, or that of the previous record if the next ones continue from there.

    The next ones start at `after`.
    """
    header, big, _, _, _ = how
    if last_ns != UNKNOWN_NS and not is_far(time_ns, last_ns):
        return time_ns
    first, before = last_ns == UNKNOWN_NS, time_ns
    for _ in range(DEPTH):
        if after + header > end:
            break
        next_ns, _ = time_of(buffer, after, how, time_ns)
        if not first and not is_far(next_ns, last_ns):
            return last_ns
        if first and not is_far(next_ns, before):  # of the first three of a file, two continue each other
            return before
        before = next_ns
        after += header + number(buffer + after + 8, big)
    return time_ns


@compiled
def settle_times(times: Any, last_ns: int, whole: bool) -> Any:
    """Correct in place times that are far from those before and after them, with the time of the previous packet.

    Each decision needs the next two times, unless these are the `whole`. Returns the number of decided times, and of
    corrections.
    """
    corrected = 0
    for k in range(len(times)):
        first = last_ns == UNKNOWN_NS
        if first or is_far(times[k], last_ns):
            if k + DEPTH >= len(times) and not whole:
                return k, corrected
            before = times[k]
            for j in range(k + 1, min(k + 1 + DEPTH, len(times))):
                near = not is_far(times[j], before if first else last_ns)
                if near:
                    corrected += times[k] != (before if first else last_ns)
                    times[k] = before if first else last_ns
                    break
                before = times[j]
        last_ns = times[k]
    return len(times), corrected


@compiled
def find_block(buffer: int, at: int, end: int, big: bool, ended: bool) -> Any:
    """Find the first position from `at` on of a pcapng block of a known type, followed by another or the end of the file.

    `SKIP`: the position is found. `MORE`: it may be from there on. `END`: there is none.
    """
    for place in range(at, end - 11):
        length = number(buffer + place + 4, big)
        if _is_block(buffer, place, big):
            after = place + length
            if after + 8 > end and not (ended and after <= end):
                if not ended:
                    return MORE, place
            elif number(buffer + after - 4, big) == length and (after + 8 > end or _is_block(buffer, after, big)):
                return SKIP, place
    return END if ended else MORE, max(at, end - 11)


@part
def _is_block(buffer: Any, at: Any, big: Any) -> Any:
    """Check whether a valid type and length of a block are at `at`."""
    kind, length = number(buffer + at, big), number(buffer + at + 4, big)
    if length < LEAST_BLOCK or length > MOST_BLOCK or length & 3:
        return False
    return 1 <= kind <= 6 or kind in (DECRYPTION, SECTION, CUSTOM, CUSTOM_LOCAL)
