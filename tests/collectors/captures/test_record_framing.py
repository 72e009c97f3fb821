import struct

import numpy as np

from collectors.captures.record_framing import DAMAGED, WHOLE, Frames, Records, scan_blocks, scan_records
from tests.collectors.builders.captures import START, enhanced, interface, pcap, section


def scanned(octets, end, *, room=50, limit=65535, ended=True):
    columns = [column[:room] for column in Frames().room(100)]
    buffer = np.frombuffer(octets, np.uint8)
    how, last_ns = Records(16, False, 1, limit, 1), START
    n, at, fault, _ = scan_records(buffer.ctypes.data, 24, end, how, last_ns, ended, tuple(columns))
    return [column[:n].tolist() for column in columns], at, fault


def test_records_up_to_the_first_that_is_not_complete():
    octets = pcap()
    (types, times, offsets, captured, _), at, fault = scanned(octets, len(octets))
    assert (set(types), at, fault) == ({1}, len(octets), WHOLE)
    assert [o + c for o, c in zip(offsets, captured, strict=True)] == [o - 16 for o in offsets[1:]] + [at]
    assert times == sorted(times)
    for missing in (1, captured[-1]):
        assert scanned(octets, len(octets) - missing)[1:] == (offsets[-1] - 16, WHOLE)


def test_none_is_taken_before_the_header_of_the_next_is_seen():
    octets = pcap()
    offsets = scanned(octets, len(octets))[0][2]
    for end, last in ((len(octets), 39), (offsets[-1] - 1, 38), (offsets[-1], 39)):
        assert scanned(octets, end, ended=False)[1:] == (offsets[last] - 16, WHOLE)
    odd = bytearray(octets)
    struct.pack_into("<I", odd, offsets[9] - 16, 5)  # in 1970
    (_, _, found, _, _), at, fault = scanned(bytes(odd), len(octets))
    assert (found, at, fault) == (offsets[:8], offsets[8] - 16, DAMAGED)


def test_no_more_than_there_is_room_for():
    columns, at, _ = scanned(pcap(), len(pcap()), room=7)
    assert len(columns[0]) == 7
    assert at == columns[2][6] + columns[3][6]


def test_damage_is_reported():
    octets = bytearray(pcap())
    octets[24 + 8 : 24 + 12] = struct.pack("<I", 70_000)
    assert scanned(bytes(octets), len(octets)) == ([[]] * 5, 24, DAMAGED)


def test_blocks_up_to_one_that_describes():
    octets = section() + interface() + enhanced("<", 5, b"abc", 3) * 3 + interface() + enhanced("<", 5, b"abc", 3)
    rows, buffer = np.zeros(10, np.int64), np.frombuffer(octets, np.uint8)
    begin = len(section() + interface())
    n, at = scan_blocks(buffer.ctypes.data, begin, len(octets), False, rows)
    assert rows[:n].tolist() == [begin, begin + 36, begin + 72]
    assert at == begin + 108
