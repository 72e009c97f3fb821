"""What becomes of odd records, and where sound ones start again. `test_pcap` says what comes of it."""

import struct

import numpy as np
import pytest

from collectors.captures.record_framing import UNKNOWN_NS, Records
from collectors.captures.resynchronisation import END, MORE, READ, SKIP, find_block, find_record, judge_record, settle_times
from tests.collectors.builders.captures import START, ends, enhanced, pcap, section

HOW = Records(16, False, 1, 262_144, 1)
DAY = 86_400 * 10**9


def judged(octets, at, *, end=None, last_ns=START, ended=True):
    buffer = np.frombuffer(bytes(octets), np.uint8)
    verdict, place, time_ns = judge_record(buffer.ctypes.data, at, end or len(octets), HOW, last_ns, ended)
    return int(verdict), int(place), int(time_ns)


def test_a_sound_record_is_read_when_the_next_headers_are_there():
    octets, places = pcap(), ends(pcap())
    assert judged(octets, 24) == (READ, places[0], START)
    assert judged(octets, 24, last_ns=UNKNOWN_NS) == (READ, places[0], START)
    for end in range(25, places[1] + 16):
        assert judged(octets, 24, end=end, ended=False)[:2] == (MORE, 24)
    assert judged(octets, 24, end=places[1] + 16, ended=False)[:2] == (READ, places[0])
    assert judged(octets, places[38])[:2] == (READ, places[39])
    assert judged(octets, places[38], end=places[39] - 1)[:2] == (END, places[38])


def test_a_damaged_record_is_skipped_and_one_of_a_wrong_length_is_cut():
    places = [24, *ends(pcap())]
    for claimed, verdict, place in ((2**30, SKIP, places[6]), (5000, READ, places[6])):
        octets = bytearray(pcap())
        struct.pack_into("<I", octets, places[5] + 8, claimed)
        assert judged(octets, places[5])[:2] == (verdict, place)


def test_records_are_searched_for_in_as_many_octets_as_it_takes():
    octets = bytes(1000) + pcap()[24:]
    buffer, first = np.frombuffer(octets, np.uint8), ends(pcap())[0] - 24
    address = buffer.ctypes.data
    assert find_record(address, 0, 900, 900, HOW, START, False)[:2] == (MORE, 885)
    assert find_record(address, 885, 1000 + first, 1000 + first, HOW, START, False)[:2] == (MORE, 1000)
    assert find_record(address, 1000, len(octets), len(octets), HOW, START, False)[:2] == (SKIP, 1000)
    assert find_record(address, 0, 900, 900, HOW, START, True)[0] == END
    assert find_record(address, 0, len(octets), len(octets), HOW, START + 5 * DAY, True)[0] == END


@pytest.mark.parametrize(
    ("times", "whole", "settled", "corrected", "found"),
    [
        ([1, 2, 3], True, 3, 0, [1, 2, 3]),
        ([2 * DAY, 2, 3], True, 3, 1, [2, 2, 3]),
        ([1, 2 * DAY, 3], True, 3, 1, [1, 1, 3]),
        ([1, 2 * DAY, 9 * DAY, 3], True, 4, 2, [1, 1, 1, 3]),
        ([1, 2 * DAY], True, 2, 0, [1, 2 * DAY]),
        ([1, 2, 3, 2 * DAY, 2 * DAY + 1], True, 5, 0, [1, 2, 3, 2 * DAY, 2 * DAY + 1]),
        ([1, 2, 3, 2 * DAY, 4], False, 3, 0, [1, 2, 3, 2 * DAY, 4]),
        ([1, 2], False, 0, 0, [1, 2]),
        ([1, 2, np.iinfo(np.int64).max, np.iinfo(np.int64).min + 1, 5], True, 5, 2, [1, 2, 2, 2, 5]),
        ([], False, 0, 0, []),
    ],
)
def test_times_far_from_those_around_them_are_corrected(times, whole, settled, corrected, found):
    column = np.array(times, np.int64)
    assert settle_times(column, UNKNOWN_NS, whole) == (settled, corrected)
    assert column.tolist() == found


def test_blocks_are_searched_for():
    octets = b"\x06" * 101 + enhanced("<", 7, b"abc", 3) + section()
    buffer = np.frombuffer(octets, np.uint8)
    address = buffer.ctypes.data
    assert find_block(address, 1, len(octets), False, True) == (SKIP, 101)
    assert find_block(address, 102, len(octets), False, True) == (SKIP, len(octets) - len(section()))
    assert find_block(address, 1, 120, False, False) == (MORE, 101)
    assert find_block(address, 1, 80, False, False) == (MORE, 69)
    assert find_block(address, 1, 120, False, True)[0] == END
