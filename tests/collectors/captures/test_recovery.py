import io
import random
import tracemalloc

import pytest

from collectors.captures import pcap
from collectors.captures._recovery import grow
from collectors.files import compression
from collectors.files.compression import Stream
from tests.collectors.builders.captures import PACKETS, ends, expected, pcapng, rows, saved
from tests.collectors.builders.captures import pcap as sound


def test_growing_keeps_what_is_left_and_gets_more():
    stream = Stream(compression.open_octets(io.BytesIO(bytes(range(256)) * 100)))
    grow(stream, 0, 10)
    first = stream.end
    grow(stream, 5, 10)
    assert (stream.start, stream.buffer[0]) == (5, 5)
    assert stream.end > first


@pytest.mark.parametrize("kind", ["pcap", "pcapng"])
@pytest.mark.parametrize("seed", range(60))
def test_flipped_bits_cost_the_packets_they_are_in(tmp_path, kind, seed):
    """Packets a little before and behind damage are kept; nothing raises. A flipped header may take its neighbours along."""
    rng = random.Random(seed)
    whole = sound() if kind == "pcap" else pcapng()
    octets, places = bytearray(whole), ends(whole)
    hit = set()
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(places[1], len(octets))
        octets[at] ^= 1 << rng.randrange(8)
        hit.add(sum(end <= at for end in places))
    for batch_octets in (64, 1 << 20):
        capture = pcap.read(saved(tmp_path / "a", bytes(octets)), batch_octets=batch_octets)
        found = {(bytes(frame), wire) for _, _, frame, wire in rows(capture)}
        wanted = [row[2:] for k, row in enumerate(expected()) if not {k - 1, k} & hit]
        assert [row for row in wanted if row not in found] == []


@pytest.mark.parametrize("hole", [b"\0", b"\x01\x00\x00\x00", b"\xff", b"random"])
def test_a_long_hole_takes_little_memory(tmp_path, hole):
    """4 MB of something else in the middle of a capture."""
    octets, place = sound(), ends(sound())[19]
    other = random.Random(1).randbytes(1 << 22) if hole == b"random" else hole * ((1 << 22) // len(hole))
    path = saved(tmp_path / "a", octets[:place] + other + octets[place:])
    rows(pcap.read(saved(tmp_path / "b", octets)))  # compiled
    tracemalloc.start()
    capture = pcap.read(path, batch_octets=1 << 16)
    found = rows(capture)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(found) >= len(PACKETS) - 1
    assert len(capture.warnings) <= 6
    assert most < 4_000_000
