import json
import struct

import numpy as np
import pytest

from collectors.exports.netflow.netflow import NetflowDecoder
from collectors.exports.records.time_formats import FRACTIONS, MAX_VOTES, MIN_ROUND_TIMES, MIN_TIMES, MS, NS, US, Clock, S
from tests.collectors.builders import exports as x
from tests.collectors.builders.exports import batch, ipfix, set_, template, v9
from tests.collectors.builders.netflows import decoded

NTP = 2_208_988_800
SECOND = 10**9
AT = x.WHEN * SECOND
NANOSECONDS = FRACTIONS["nanoseconds"]


def moments(n, *, step=7_919_654_321 // 60, seed=1):
    """Ends of flows: ns before the export, in an order of their own, within the last minutes."""
    return (AT - np.random.default_rng(seed).permutation(n) * step - 123_456_789).tolist()


def words(when, fraction, *, epoch=NTP):
    """An NTP time whose second word a maker writes in its own way."""
    return (when // SECOND + epoch) << 32 | fraction(when % SECOND)


def binary(ns):
    return (ns << 32) // SECOND


FORMATS = {
    "s as ms": (150, 8, lambda ns: ns // 10**6, 10**6),
    "s as ns": (150, 8, lambda ns: ns, 1),
    "s since 1900": (150, 4, lambda ns: ns // SECOND + NTP, SECOND),
    "ms as s": (152, 8, lambda ns: ns // SECOND, SECOND),
    "ms as us": (152, 8, lambda ns: ns // 1000, 1000),
    "ms as ns": (152, 8, lambda ns: ns, 1),
    "ms in 4 octets": (152, 4, lambda ns: ns // 10**6 % 2**32, 10**6),
    "us as ms": (154, 8, lambda ns: ns // 10**6, 10**6),
    "us as ns": (154, 8, lambda ns: ns, 1),
    "ns as s": (156, 8, lambda ns: ns // SECOND, SECOND),
    "ns as us": (156, 8, lambda ns: ns // 1000, 1000),
    "nanoseconds": (156, 8, lambda ns: words(ns, lambda f: f), 1),
    "microseconds": (156, 8, lambda ns: words(ns, lambda f: f // 1000), 1000),
    "milliseconds": (156, 8, lambda ns: words(ns, lambda f: f // 10**6), 10**6),
    "microseconds of us": (154, 8, lambda ns: words(ns, lambda f: f // 1000), 1000),
    "nanoseconds of us": (154, 8, lambda ns: words(ns, lambda f: f // 1000 * 1000), 1000),
    "words since 1970": (156, 8, lambda ns: words(ns, binary, epoch=0), 2),
    "nanoseconds since 1970": (156, 8, lambda ns: words(ns, lambda f: f, epoch=0), 1),
    "as it should be": (156, 8, lambda ns: words(ns, binary), 2),
    "ms as it should be": (152, 8, lambda ns: ns // 10**6, 10**6),
    "us of a clock of us": (154, 8, lambda ns: words(ns, lambda f: binary(f // 1000 * 1000)), 1001),
}


def messages(name, ends, *, lasted=3 * SECOND, bad=()):
    """Records with start and end; `bad` are ones with nonsense in both."""
    element, octets, made, _ = FORMATS[name]
    fields = ((x.SRC, 4), (x.DST, 4), (x.OCTETS, 4), (element, octets), (element + 1, octets))
    kind = ">IQQ" if octets == 8 else ">III"
    for i, end in enumerate(ends):
        times = (i * 77_777, i) if i in bad else (made(end - lasted), made(end))
        yield ipfix(template(300, fields), set_(300, bytes(8) + struct.pack(kind, i, *times)), sequence=i)


@pytest.mark.parametrize("name", FORMATS)
def test_times_as_makers_write_them(name):
    ends = moments(60)
    flows, decoder = decoded(*messages(name, ends))
    order, unit = np.argsort(flows.octets), FORMATS[name][3]
    assert np.abs(flows.end_ns[order] - ends).max() < unit
    assert np.abs(flows.start_ns[order] - np.array(ends) + 3 * SECOND).max() < unit
    corrected = {what: n for what, n in decoder.tally.items() if what.startswith("times corrected") and n}
    assert bool(corrected) == ("should be" not in name and "of a clock" not in name)
    assert all(n == 120 for n in corrected.values()), corrected
    assert decoder.exporters[x.A] == decoder.tally


@pytest.mark.parametrize("name", ["ms as s", "nanoseconds", "microseconds", "words since 1970", "as it should be"])
def test_a_few_records_of_nonsense_change_nothing(name):
    ends = moments(80)
    bad = {5, 37, 66}
    flows, _ = decoded(*messages(name, ends, bad=bad))
    order = np.argsort(flows.octets)
    good = np.array([i for i in range(80) if i not in bad])
    assert np.abs(flows.end_ns[order][good] - np.array(ends)[good]).max() < FORMATS[name][3]


@pytest.mark.parametrize("name", ["ms as s", "nanoseconds"])
def test_few_records_recognise_nothing_and_many_batches_do(name):
    decoder, ends = NetflowDecoder(), moments(60)
    flows = [decoder.decode(batch(message)) for message in messages(name, ends)]
    late = [abs(int(part.end_ns[0]) - end) for part, end in zip(flows, ends, strict=True)]
    assert late[0] > 1_000_000
    assert max(late[-20:]) < FORMATS[name][3]
    again = NetflowDecoder(state=json.loads(json.dumps(decoder.state)))  # and it is known after a restart
    (last,) = messages(name, ends[:1])
    assert abs(int(again.decode(batch(last)).end_ns[0]) - ends[0]) < FORMATS[name][3]


def test_one_exporter_does_not_change_the_times_of_another():
    ends = moments(60)
    right, wrong = (list(messages(name, ends)) for name in ("as it should be", "nanoseconds"))
    decoder = NetflowDecoder()
    rows = [(who, p, AT) for pair in zip(right, wrong, strict=True) for who, p in zip((x.A, x.B), pair, strict=True)]
    flows = decoder.decode(type(batch()).of(rows))
    for who, corrected in ((x.A, 0), (x.B, 120)):
        own = np.flatnonzero(flows.exporter == flows.exporters.index(who))
        own = own[np.argsort(flows.octets[own])]
        assert np.abs(flows.end_ns[own] - ends).max() <= 1
        assert decoder.exporters[who][f"times corrected: {NANOSECONDS}"] == corrected


@pytest.mark.parametrize(("scale", "corrected"), [(1, 0), (10, 60), (1000, 60)])
def test_uptimes_in_hundredths_or_seconds(scale, corrected):
    up = 20 * 86_400 * 1000
    fields = ((x.SRC, 4), (x.DST, 4), (x.OCTETS, 4), (22, 4), (21, 4))
    body = b"".join(
        bytes(8) + struct.pack(">III", i, (up - 9_000 - i * 1000) // scale, (up - i * 1000) // scale) for i in range(30)
    )
    flows, decoder = decoded(v9(template(300, fields, version=9), set_(300, body), uptime=up))
    order = np.argsort(flows.octets)
    assert (AT - flows.end_ns[order]).tolist() == [i * SECOND for i in range(30)]
    assert (flows.end_ns - flows.start_ns).tolist() == [9 * SECOND] * 30
    assert sum(n for name, n in decoder.tally.items() if name.startswith("times corrected")) == corrected


def test_seconds_since_1970_where_the_time_since_boot_should_be():
    fields = ((x.SRC, 4), (x.DST, 4), (22, 4), (21, 4))
    body = b"".join(bytes(8) + struct.pack(">II", x.WHEN - 9, x.WHEN - 2) for _ in range(20))
    flows, _ = decoded(ipfix(template(300, fields), set_(300, body)))
    assert {(s - AT, e - AT) for s, e in zip(flows.start_ns, flows.end_ns, strict=True)} == {(-9 * SECOND, -2 * SECOND)}


def test_a_clock_changes_its_mind():
    clock = Clock()
    clock.vote("ms", MIN_TIMES - 1, 0, {S: MIN_TIMES - 1, MS: 0})
    assert clock.formats == {}
    clock.vote("ms", 1, 0, {S: 1, MS: 0})
    assert clock.formats == {"ms": S}
    for _ in range(2 * MAX_VOTES // 64):
        clock.vote("ms", 64, 64, {S: 0})
    assert clock.formats == {}
    for _ in range(20 * MAX_VOTES // 64):
        clock.vote("ms", 64, 0, {US: 64, NS: 3})
    assert clock.formats == {"ms": US}
    assert clock.votes["ms"]["tried"] <= MAX_VOTES + 64


def test_what_a_fraction_may_be_is_left_as_it_is():
    """A job that sends at the same part of each second: all fractions are small, and not only those of nanoseconds."""
    clock, chance = Clock(), np.random.default_rng(3)
    clock.see("ns", chance.integers(1, SECOND // 2, 1000))
    assert clock.formats == {}
    clock = Clock()
    clock.see("ns", np.array([binary(ns * 1000) for ns in chance.integers(1, 232_000, 1000)]))  # a clock of us
    assert clock.formats == {}
    clock.see("ns", chance.integers(1, 1 << 32, 1000))
    assert clock.formats == {}
    clock = Clock()
    clock.see("ns", np.full(MIN_ROUND_TIMES, 500_000_000))
    assert clock.formats == {"ns fraction": NANOSECONDS}
    clock.see("ns", chance.integers(1, 1 << 32, 1000))
    assert clock.formats == {}
