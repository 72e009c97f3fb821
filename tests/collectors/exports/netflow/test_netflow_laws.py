"""Whatever comes: the same answers, and sums that come out even."""

import random
import struct
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.exports.counter_names import DATAGRAMS, RECORDS, CounterTable
from collectors.exports.datagrams import Datagrams
from collectors.exports.netflow.netflow import NetflowDecoder
from tests.collectors.builders import exports as x
from tests.collectors.builders.exports import A, B, check_laws, ipfix, options_template, record, rows, set_, template, v5, v9
from tests.collectors.builders.netflows import decoded

ELEMENTS = ((5, 1), (10, 2), (14, 4), (82, 8), (95, 3), (210, 1), (9999, 6), (33, 7))


@st.composite
def layouts(draw):
    """Fields of a template, and records of it with what they say."""
    extra = draw(st.lists(st.sampled_from(ELEMENTS), max_size=5))
    sizes = {x.OCTETS: draw(st.sampled_from((2, 4, 8))), x.PACKETS: draw(st.integers(2, 8))}
    known = [(element, sizes.get(element, size)) for element, size in x.FIELDS]
    given = draw(st.permutations([*known, *extra]))
    return given, draw(
        st.lists(
            st.tuples(st.integers(0, 65535), st.integers(1, 65535), st.binary(min_size=8, max_size=8)), min_size=1, max_size=9
        )
    )


def packed(given, octets, packets, filler, *, vary=()):
    values = {
        x.SRC: x.ip("10.0.0.1"),
        x.DST: x.ip("10.0.0.2"),
        x.SRC_PORT: b"\0\1",
        x.DST_PORT: b"\0\2",
        x.PROTOCOL: b"\6",
        x.FLAGS: b"\x10",
    }
    values |= {x.START_MS: struct.pack(">Q", x.WHEN * 1000), x.END_MS: struct.pack(">Q", x.WHEN * 1000 + octets)}
    numbers = {x.OCTETS: octets, x.PACKETS: packets}
    out = b""
    for element, size in given:
        value = numbers[element].to_bytes(size, "big") if element in numbers else values.get(element, filler[:size])
        out += x.variable(value, long=filler[0] % 2 == 0) if element in vary else value
    return out


@given(layouts(), st.sets(st.sampled_from([x.OCTETS, x.PACKETS, x.SRC_PORT, 82, 95, 9999, 33])))
def test_records_of_one_size_and_of_many_agree(layout, vary):
    given_fields, values = layout
    flexible = [(element, x.VARIABLE if element in vary else size) for element, size in given_fields]
    fixed_body = b"".join(packed(given_fields, *v) for v in values)
    varying_body = b"".join(packed(given_fields, *v, vary=vary) for v in values)
    fixed, _ = decoded(ipfix(template(300, given_fields), set_(300, fixed_body)))
    varying, decoder = decoded(ipfix(template(300, flexible), set_(300, varying_body)))
    assert rows(fixed) == rows(varying)
    assert sorted(fixed.octets.tolist()) == sorted(v[0] for v in values)
    assert sorted(fixed.packets.tolist()) == sorted(v[1] for v in values)
    assert decoder.tally["records decoded"] == len(values)


def traffic(chance):
    """What one exporter sends: templates, data, options, of all versions, whole and broken."""
    good = [
        ipfix(template(300), set_(300, record(1)), sequence=5),
        ipfix(set_(300, record(2) + record(3))),
        ipfix(set_(301, record(4))),
        ipfix(template(301), options_template(400, ((302, 4),), ((305, 4),))),
        ipfix(set_(400, struct.pack(">II", 1, chance.choice((10, 20)))), set_(300, record(5))),
        ipfix(set_(2, struct.pack(">HH", 300, 0))),
        ipfix(template(302, ((8, 4), (12, 4), (1, 4), (82, x.VARIABLE)))),
        ipfix(set_(302, (bytes(12) + x.variable(b"eth0")) * 3)),
        v9(template(300, version=9), set_(300, record(6))),
        v9(set_(300, record(7)), set_(500, record(8))),
        v5(x.v5_record(), x.v5_record(), sequence=9),
    ]
    chosen = [chance.choice(good) for _ in range(chance.randrange(12))]
    for i, payload in enumerate(chosen):
        what = chance.random()
        if what < 0.1:
            chosen[i] = payload[: chance.randrange(len(payload))]
        elif what < 0.2:
            spoiled = bytearray(payload)
            for _ in range(3):
                spoiled[chance.randrange(len(spoiled))] = chance.randrange(256)
            chosen[i] = bytes(spoiled)
        elif what < 0.25:
            chosen[i] = chance.randbytes(chance.randrange(100))
    return chosen


def outcome(tally):
    """What became of everything; without gaps in sequences, which are not followed where the size of a message is not known."""
    return [replace(CounterTable.of(tally, unit), lost=0) for unit in (DATAGRAMS, RECORDS)]


@settings(max_examples=60)
@given(st.integers(0, 2**32))
def test_the_laws_hold_and_exporters_do_not_disturb_one_another(seed):
    chance = random.Random(seed)
    sent = {who: traffic(chance) for who in (A, B, "2001:db8::1")}
    order = [who for who, payloads in sent.items() for _ in payloads]
    chance.shuffle(order)
    queues = {who: iter(payloads) for who, payloads in sent.items()}
    mixed = [(who, next(queues[who]), i * 10**9) for i, who in enumerate(order)]
    whole = NetflowDecoder()
    flows = rows(whole.decode(Datagrams.of(mixed)))
    check_laws(whole.tally, whole.exporters)
    assert whole.tally["datagrams received"] == len(mixed)
    singly = NetflowDecoder()
    assert sorted(r for datagram in mixed for r in rows(singly.decode(Datagrams.of([datagram])))) == flows
    check_laws(singly.tally, singly.exporters)
    assert outcome(singly.tally) == outcome(whole.tally)
    for who in sent:
        alone = NetflowDecoder()
        mine = rows(alone.decode(Datagrams.of([datagram for datagram in mixed if datagram[0] == who])))
        assert mine == [r for r in flows if r[-1] == who]
        assert +alone.tally == +whole.exporters.get(who, alone.tally)


def test_many_exporters_at_once():
    many = [(f"10.1.{i // 256}.{i % 256}", ipfix(template(300), set_(300, record(i))), i) for i in range(600)]
    decoder = NetflowDecoder()
    flows = decoder.decode(Datagrams.of(many))
    assert len(flows) == 600
    assert [flows.exporters[e] for e in flows.exporter] == [f"10.1.{i // 256}.{i % 256}" for i in flows.octets - 1000]
    assert isinstance(flows.octets, np.ndarray)
