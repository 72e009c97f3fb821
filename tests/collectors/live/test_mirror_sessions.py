import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.exports.admission import NOT_ALLOWED, parse_networks
from collectors.live._mirror_sessions import NO_MIRROR, NO_SESSION, TOO_MANY, Mirrors, named_switches
from collectors.packets import headers
from collectors.packets.frame_batch import Batch
from tests.collectors.builders import frames

INNER = frames.ethernet(frames.ipv4(frames.tcp(b"x" * 30)))


def erspan(session=None, *, third=False, source="192.0.2.1", options=0):
    """A mirrored frame: ERSPAN of type II or III, without a session of type I."""
    kind = headers.ERSPAN_III if third else headers.ERSPAN
    flags = 0x1000 if session is not None else 0
    body = struct.pack(">HH", flags, kind) + (bytes(4) if flags else b"")
    if session is not None:
        body += struct.pack(">HH", (2 if third else 1) << 12 | 5, 0x8400 & 0xFC00 | session) + bytes(8 if third else 4)
    six = ":" in source
    outer = (
        frames.ipv6(body + INNER, 47, src=source) if six else frames.ipv4(body + INNER, 47, src=source, options=bytes(options))
    )
    return frames.ethernet(outer, headers.IPV6 if six else headers.IPV4)


def split(mirrors, *rows):
    batch = Batch.of([(i, frame, len(frame)) for i, frame in enumerate(rows)])
    return {name: part.time_ns.tolist() for name, part in mirrors.split(batch)}


def test_switches_are_identified_by_address_and_session():
    mirrors = Mirrors(named_switches(["leaf0=192.0.2.1", "spine0=192.0.2.2/7", "spine1=192.0.2.2/8", "six=fd00::9/1023"]))
    found = split(
        mirrors,
        erspan(3),
        erspan(),
        erspan(7, source="192.0.2.2"),
        erspan(8, source="192.0.2.2", third=True, options=8),
        erspan(9, source="192.0.2.2"),
        erspan(1023, source="fd00::9", third=True),
        INNER,
        frames.ethernet(frames.ipv4(struct.pack(">HH", 0, headers.BRIDGED) + INNER, 47, src="192.0.2.1")),
    )
    assert found == {"leaf0": [0, 1, 7], "spine0": [2], "spine1": [3], "192.0.2.2": [4], "six": [5]}
    assert mirrors.skipped == {NO_MIRROR: 1}


def test_sources_can_be_limited():
    mirrors = Mirrors({}, allowed=parse_networks(["192.0.2.1"]))
    assert split(mirrors, erspan(), erspan(source="192.0.2.2"), erspan(source="fd00::9")) == {"192.0.2.1": [0]}
    assert mirrors.skipped == {NOT_ALLOWED: 2}
    mirrors.reload(parse_networks(["fd00::/8"]))
    assert split(mirrors, erspan(), erspan(source="fd00::9")) == {"fd00::9": [1]}


def test_switches_are_bounded():
    mirrors = Mirrors({}, most=2)
    rows = [erspan(source=f"192.0.2.{i}") for i in (1, 2, 3, 1, 3)]
    assert split(mirrors, *rows) == {"192.0.2.1": [0, 3], "192.0.2.2": [1]}
    assert mirrors.skipped == {TOO_MANY: 2}


@given(st.lists(st.binary(max_size=80), min_size=1, max_size=5), st.integers(0, 60))
def test_any_octets_are_split_or_counted(rows, cut):
    mirrors = Mirrors({})
    rows = [*rows, erspan(5)[:cut]]
    found = split(mirrors, *rows)
    assert sum(map(len, found.values())) + sum(mirrors.skipped.values()) == len(rows)


def test_names():
    assert named_switches(["a=192.0.2.1", "b=fd00::1/0"]) == {("192.0.2.1", NO_SESSION): "a", ("fd00::1", 0): "b"}


@pytest.mark.parametrize(
    "text", ["", "a", "a=", "=192.0.2.1", "a=b", "a=192.0.2.1/1024", "a=192.0.2.1/x", "a|b=192.0.2.1", "a=1.2.3.4/-5"]
)
def test_what_names_no_switch(text):
    with pytest.raises(ValueError, match="does not name a switch"):
        named_switches([text])
