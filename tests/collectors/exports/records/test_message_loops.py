import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors.exports.records import message_loops
from tests.collectors.builders import exports as x
from tests.collectors.builders.exports import batch, ipfix, record, set_, template, v5, v9

PIECES = (
    *(template(300), set_(300, record()), set_(3, b"abcd"), set_(0, b"abcd"), set_(2, b""), set_(77, b"x"), set_(256, b"")),
    *(set_(300, b"", length=3), set_(300, b"abc", length=900), bytes(4), bytes(3), b"\1"),
)


def walked(*payloads):
    d = batch(*payloads)
    heads = np.zeros((message_loops.HEADS, len(d)), np.int64)
    sets = np.zeros((message_loops.SETS, len(d.data) // 4 + len(d) + 1), np.int64)
    many = message_loops.unpack_messages(np.frombuffer(d.data, np.uint8), d.offset, d.length, heads, sets)
    bodies = [(int(i), int(n), d.data[b:e], int(t)) for i, n, b, e, t in sets[:, :many].T]
    return bodies, [message_loops.FAULTS[f] for f in heads[message_loops.FAULT]], heads


def naive(i, payload):
    """The sets of one message of v9 or IPFIX, and the fault, read one by one."""
    version = int.from_bytes(payload[:2], "big")
    fault, rest = "", payload[20:]
    if version == 10:
        length = int.from_bytes(payload[2:4], "big")
        if length < 16:
            return [], "bad message length"
        fault = "cut off" if length > len(payload) else ""
        rest = payload[16:length]
    found = []
    while len(rest) >= 4:
        number, size = struct.unpack(">HH", rest[:4])
        if size < 4:
            return found, fault if not any(rest) else "bad set length"
        if size > len(rest):
            fault = "cut off"
        if number < 256 and number not in ((2, 3) if version == 10 else (0, 1)):
            fault = "reserved set id"
        else:
            found.append((i, number, rest[4:size], int(size > len(rest))))
        rest = rest[size:]
    return found, fault


@given(
    st.lists(
        st.tuples(st.sampled_from([ipfix, v9]), st.lists(st.sampled_from(PIECES), max_size=5), st.integers(0, 3)), max_size=5
    )
)
def test_sets_are_where_a_plain_reader_finds_them(messages):
    payloads = [message(*pieces) for message, pieces, _ in messages]
    payloads = [p[: max(len(p) - cut, 20)] if cut else p for p, (_, _, cut) in zip(payloads, messages, strict=True)]
    bodies, faults, _ = walked(*payloads)
    expected = [naive(i, payload) for i, payload in enumerate(payloads)]
    assert bodies == [body for found, _ in expected for body in found]
    assert faults == [fault for _, fault in expected]


def test_heads():
    _, _, heads = walked(ipfix(sequence=7, domain=2**32 - 1), v9(sequence=8, domain=3), v5(x.v5_record(), sequence=9, rate=100))
    assert heads[message_loops.VERSION].tolist() == [10, 9, 5]
    assert heads[message_loops.SEQUENCE].tolist() == [7, 8, 9]
    assert heads[message_loops.DOMAIN].tolist() == [2**32 - 1, 3, 0x102]
    assert heads[message_loops.RATE].tolist() == [0, 0, 100]
    assert heads[message_loops.UPTIME_MS].tolist() == [-1, 3_600_000, 3_600_000]
    assert heads[message_loops.EXPORT_NS].tolist() == [x.WHEN * 10**9, x.WHEN * 10**9, x.WHEN * 10**9 + 500]


def test_where_there_is_no_room_it_says_so():
    d = batch(ipfix(set_(300, b""), set_(300, b"")))
    heads = np.zeros((message_loops.HEADS, 1), np.int64)
    assert (
        message_loops.unpack_messages(
            np.frombuffer(d.data, np.uint8), d.offset, d.length, heads, np.zeros((message_loops.SETS, 1), np.int64)
        )
        == -1
    )
