"""Test that frames followed directly equal frames decoded to rows and followed then."""

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.mirror import Mirror, Mix
from collectors.aggregation.batch_decoder import Decoder
from collectors.aggregation.flow_table import FlowTable, flows_of
from collectors.captures.pcap import read
from collectors.columns.record import COLUMNS
from collectors.exports.evidence_store import DELAYS
from collectors.flows.flow_tracking import AHEAD
from collectors.flows.reordering import LATELY
from collectors.packets.frame_batch import Batch
from tests.collectors.builders.frames import SAMPLES, ethernet, ipv4, roce, tcp, udp
from tests.collectors.builders.uetframes import PACKETS, framed

ALL = (*SAMPLES, *((1, framed(packet)) for packet in PACKETS.values()))


def told(batches, how, *, switches=1):
    """All that is known in the end, where batches are decoded `how`: the name of a method of `Decoder`."""
    return of_readers(lambda decoder: map(getattr(decoder, how), batches), switches=switches)


def of_readers(reader, *, switches=1):
    """The same of what a decoder makes of something: records by name of their ends, delays, counts."""
    decoder = Decoder()
    readers = {f"s{i}": reader(decoder) for i in range(switches)}
    flows, transits, tally = flows_of(readers, decoder.endpoints)
    columns = {c.name: getattr(flows, c.name).tolist() for c in COLUMNS if c.name not in ("src", "dst")}
    for end in ("src", "dst"):
        columns[end] = [flows.endpoints[code] for code in getattr(flows, end).tolist()]
    columns["path"] = [flows.paths[code] for code in columns["path"]]
    delays = [getattr(transits, name).tolist() for name in DELAYS]
    return columns, flows.exporters, delays, tally + Counter(), decoder.skipped, decoder.endpoints


def batch_of(frames, times):
    batch = Batch.of((time, frame, len(frame)) for time, (_, frame) in zip(times, frames, strict=True))
    kinds = np.array([kind for kind, _ in frames], np.int64)
    return Batch(batch.data, kinds, batch.time_ns, batch.offset, batch.captured, batch.wire)


@given(st.data(), st.lists(st.sampled_from(ALL), min_size=1, max_size=3 * AHEAD), st.booleans(), st.integers(1, 2))
def test_the_same_whatever_comes(data, frames, ordered, switches):
    times = data.draw(st.lists(st.integers(0, 10**9), min_size=len(frames), max_size=len(frames)))
    batch = batch_of(frames, sorted(times) if ordered else times)
    cut = data.draw(st.integers(0, len(frames)))
    batches = [batch.part(0, cut), batch.part(cut, len(batch))]
    assert told(batches, "later", switches=switches) == told(batches, "unpack", switches=switches)


SHARE = st.sampled_from([0.0, 0.01, 0.3])
MIRRORED = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 99),
        "mix": st.builds(
            Mix,
            queue_pairs=st.integers(1, 40),
            connections=st.integers(1, 9),
            hosts=st.integers(2, 20),
            active=st.integers(8, 40),
            tcp=st.just(0.2),
            answers=SHARE,
            marked=SHARE,
            lost=SHARE,
            back=st.integers(1, 20),
        ),
        "longest": st.sampled_from([2, 5, 1024]),
        "packets": st.sampled_from([200, 600, 1500]),
        "changes": st.lists(st.tuples(st.integers(0, 199), st.integers(0, 70), st.integers(0, 255)), max_size=6),
        "snaplen": st.sampled_from([40, 54, 58, 70, 74, 128]),
    }
)


def mirrored(seed, mix, longest, packets, changes, snaplen):
    """Packets of a few busy flows: messages and segments, lost, marked, acknowledged; a few octets changed here and there."""
    mirror = Mirror(seed, mix)
    mirror.length = np.minimum(mirror.length, longest)
    time_ns, octets, captured, wire = mirror.some(packets)
    for i, at, value in changes:
        octets[i, at] = value
    captured = np.minimum(captured, snaplen)
    return [(int(t), row[:n].tobytes(), int(w)) for t, row, n, w in zip(time_ns, octets, captured, wire, strict=True)]


@given(MIRRORED)
def test_the_same_of_busy_flows(how):
    packets = mirrored(**how)
    batches = [Batch.of(packets[k : k + 700]) for k in range(0, len(packets), 700)]
    assert told(batches, "later") == told(batches, "unpack")


def segment(number, octets=1000):
    """A segment of a lane; as its number is, so are its place in the stream and its IP identification."""
    frame = bytearray(ethernet(ipv4(tcp(bytes(octets), flags=0x10))))
    frame[18:20], frame[38:42] = (100 + number).to_bytes(2), (octets * number).to_bytes(4)
    return bytes(frame)


@pytest.mark.parametrize("back", range(1, 10))
@pytest.mark.parametrize("run", [2, 5, 40])
def test_copies_of_segments_that_came_in_a_run(run, back):
    """A mirror gives them again some packets later; as many as a lane remembers, seven, are known to be copies."""
    numbers = [*range(run), *range(max(run - back, 0), run), *range(run, run + 3)]
    batch = Batch.of((1000 * k, segment(number), 1054) for k, number in enumerate(numbers))
    found = told([batch], "later")
    assert found == told([batch], "unpack")
    copies = min(back, run)
    assert found[3]["seen twice by a mirror"] == (copies if copies <= LATELY else 0)


@pytest.mark.parametrize("at", [1, AHEAD - 1, AHEAD, AHEAD + 1, 2 * AHEAD + 5])
def test_a_clock_that_goes_back(at):
    frames = [SAMPLES[k % 2] for k in range(3 * AHEAD)]
    times = [1000 * (i if i < at else i - at) for i in range(len(frames))]
    batch = batch_of(frames, times)
    found = told([batch, batch_of(frames[:7], range(10**6, 10**6 + 7))], "later")
    assert found == told([batch, batch_of(frames[:7], range(10**6, 10**6 + 7))], "unpack")
    assert found[3]["packets seen once"] == 3 * AHEAD + 7


def of_new_pairs(seed, count, addresses):
    """Packets between addresses drawn at random, of every kind, of whole blocks of which each flow is new."""
    draw = random.Random(seed)
    kinds = [
        *(tcp(bytes(octets), flags=flags) for octets in (0, 10, 1000) for flags in (0x02, 0x10, 0x18, 0x11)),
        roce(10, bytes(1016)),
        roce(7, bytes(1000)),
        roce(17, bytes(4)),
        udp(bytes(40)),
    ]
    for k in range(count):
        src, dst = (f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}" for n in (draw.randrange(addresses), draw.randrange(addresses)))
        kind = draw.randrange(len(kinds))
        protocol = 6 if kind < 12 else 17
        yield 1000 * k, ethernet(ipv4(kinds[kind], protocol, src=src, dst=dst))


@pytest.mark.parametrize("addresses", [3, 60, 1 << 24])
@pytest.mark.parametrize("size", [3, 700])  # of a batch; there is room for the addresses of many small ones too
def test_the_same_of_pairs_at_random(addresses, size):
    packets = [(time, frame, len(frame)) for time, frame in of_new_pairs(addresses, 3000, addresses)]
    batches = [Batch.of(packets[k : k + size]) for k in range(0, len(packets), size)]
    assert told(batches, "later") == told(batches, "unpack")


@pytest.mark.parametrize("octets", [1 << 12, 1 << 20])
def test_more_flows_than_there_is_room_for(tmp_path, octets):
    mix = Mix(queue_pairs=3000, connections=400, hosts=700, active=900, window=2048, lost=0.01)
    Mirror(3, mix).write(tmp_path / "a.pcap", 20_000)

    def batches():
        yield from read(tmp_path / "a.pcap", batch_octets=octets)

    found = told(batches(), "later")
    assert found == told(batches(), "unpack")
    assert len(found[0]["src"]) > 3000
    assert found[0]["retransmits"].count(0) < len(found[0]["src"])


def expiring(packets, how, *, each, wait_ns):
    """Records of packets, handed out after every few of them that rested for so long."""
    decoder, found = Decoder(), []
    table = FlowTable(exporters=["s"], addresses=decoder.endpoints, idle_ns=10**6, active_ns=10**5)
    for k in range(0, len(packets), each):
        batch = Batch.of(packets[k : k + each])
        table.add("s", getattr(decoder, how)(batch))
        found.append(table.expired(int(batch.time_ns[-1]), wait_ns=wait_ns - table.sightings.horizon_ns)[0])
    flows, _, tally = table.finish()
    return [[getattr(part, c.name).tolist() for c in COLUMNS] for part in (*found, flows)], tally, decoder.endpoints


@given(MIRRORED, st.integers(20, 300), st.sampled_from([0, 3000, 10**7]), st.lists(st.integers(0, 1499), max_size=5))
def test_the_same_where_records_are_handed_out_on_the_way(how, each, wait_ns, pauses):
    packets, later = [], 0
    for i, (time_ns, frame, wire) in enumerate(mirrored(**how)):
        later += 2 * 10**6 * (i in pauses)  # longer than a flow may rest
        packets.append((time_ns + later, frame, wire))
    assert expiring(packets, "later", each=each, wait_ns=wait_ns) == expiring(packets, "unpack", each=each, wait_ns=wait_ns)


@pytest.mark.parametrize("words", [0, 3, 4])
def test_a_segment_of_an_impossible_header_is_skipped_in_a_known_flow_too(words):
    """It says that it has fewer words than any header has."""
    good = ethernet(ipv4(tcp(bytes(100))))
    odd = bytearray(good)
    odd[14 + 20 + 12] = words << 4
    frames = [(1, good)] * 4 + [(1, bytes(odd))] + [(1, good)] * 4
    batch = batch_of(frames, range(0, 9000, 1000))
    assert (found := told([batch], "later")) == told([batch], "unpack")
    assert sum(found[4].values()) == 1
