import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors.exports.sflow import sample_loops as walks
from tests.collectors.builders import exports as x
from tests.collectors.builders import frames
from tests.collectors.builders.exports import batch, flow_sample, raw_header, sflow

FRAME = frames.ethernet(frames.ipv4(frames.tcp(b"x" * 20)))


def walked(*payloads, room=50):
    d = batch(*payloads)
    heads = np.zeros((walks.HEADS, len(d)), np.int64)
    samples = np.full((walks.COLUMNS, room), -1, np.int64)
    many = walks.unpack_datagrams(np.frombuffer(d.data, np.uint8), d.offset, d.length, heads, samples)
    return d, heads, samples[:, :many] if many >= 0 else None


def test_where_headers_are():
    d, heads, samples = walked(sflow(flow_sample(raw_header(FRAME, length=900), rate=5)))
    at, size = samples[walks.HEADER_AT, 0], samples[walks.HEADER, 0]
    assert d.data[at : at + size] == FRAME
    assert samples[[walks.FRAME, walks.RATE, walks.IN, walks.OUT, walks.DELAY], 0].tolist() == [900, 5, 3, 4, -1]
    assert heads[walks.AGENT_LOW, 0] == 0xFFFF_0A09_0909


def test_where_there_is_no_room_it_says_so():
    assert walked(sflow(x.counters(), x.counters()), room=1)[2] is None


@given(st.data())
def test_cut_anywhere_nothing_is_read_outside(data):
    whole = sflow(
        flow_sample(raw_header(FRAME)),
        x.counters(),
        x.drop_sample(raw_header(FRAME)),
        flow_sample(raw_header(FRAME), expanded=True),
    )
    cut = data.draw(st.integers(0, len(whole)))
    d, heads, samples = walked(whole[:cut])
    assert (heads[walks.FAULT, 0] == walks.SOUND) == (cut == len(whole))
    ends = samples[walks.HEADER_AT] + samples[walks.HEADER]
    assert (ends <= len(d.data)).all()
