import struct

import numpy as np
import pytest

from collectors.exports.netflow._options import OptionState
from collectors.exports.netflow.exporter_state import Exporter
from collectors.exports.netflow.netflow import NetflowDecoder
from collectors.exports.netflow.sampling_rates import ALL, Scope
from collectors.exports.records.flow_columns import Members
from tests.collectors.builders import exports as x
from tests.collectors.builders.exports import batch, ipfix, options_template, record, set_, template, v9
from tests.collectors.builders.netflows import decoded


class Numbers:
    """What a lookup of rates needs of the numbers of records."""

    def __init__(self, n, **columns):
        self.n, self.columns = n, {name: np.array(column) for name, column in columns.items()}

    def count(self, name):
        return self.columns.get(name)


def test_rates_hold_from_where_they_were_reported():
    one, other = (Exporter(name, most_templates=9, most_octets=1 << 20) for name in "ab")
    other.announce(9, 0, ALL, 9)
    sources = [exporter.source(9, 0) for exporter in (one, other)]
    told = OptionState([one, other], [(9, 0)] * 2, sources)
    told.set_rate(3, 0, Scope(sampler=1), 100)
    told.set_rate(3, 0, Scope(sampler=2), 50)
    told.set_rate(6, 0, Scope(sampler=1), 200)
    told.set_rate(7, 0, Scope(sampler=1), 200)  # no news
    source, position, template = np.array([0, 0, 0, 1]), np.array([1, 4, 8, 0]), np.full(4, 256)
    of = Members(np.arange(4), np.array([1, 2, 2, 1]))
    named = Numbers(6, sampler=[1, 1, 2, 1, 2, 1])
    for _ in range(2):  # layout after layout
        assert told.rates(source, position, template, of, named).tolist() == [0, 100, 50, 200, 50, 9]
    assert told.rates(source, position, template, of, Numbers(6)).tolist() == [1, 0, 0, 0, 0, 9]  # two samplers do not agree
    assert sources[0].rates.announced == {Scope(sampler=1): 200, Scope(sampler=2): 50}
    none = np.zeros(0, np.int64)
    assert OptionState([], [], []).rates(none, none, none, Members(none, none), Numbers(0)).tolist() == []


IN, OUT = 10, 14
SCOPES = {"System": 1, "Interface": 2, "Line Card": 3, "Template": 5}


def v9_rate(scope, *rates):
    """Options of v9: a scope, and (its value, rate) each."""
    told = b"".join(struct.pack(">II", *pair) for pair in rates)
    return v9(options_template(400, ((SCOPES[scope], 4),), ((34, 4),), version=9), set_(400, told))


def sampled(*interfaces, more=(), number=300, version=9, **head):
    """A message of a template and records with the interface in, or in and out."""
    fields = ((IN, 2), (OUT, 2)) if more else ((IN, 2),)
    packed = [struct.pack(">HH", *pair) for pair in more] or [struct.pack(">H", i) for i in interfaces]
    body = b"".join(record(i) + own for i, own in enumerate(packed))
    given = (*x.FIELDS, *fields)
    return (v9 if version == 9 else ipfix)(template(number, given, version=version), set_(number, body), **head)


def rates_of(flows):
    return flows.sampling_rate[np.argsort(flows.octets)].tolist()


def test_rates_of_interfaces_of_v9():
    """The given input: interface 1 samples 1 in 100, interface 2 1 in 2000. Nothing is known of interface 3."""
    flows, decoder = decoded(v9_rate("Interface", (1, 100), (2, 2000)), sampled(1, 2, 3))
    assert rates_of(flows) == [100, 2000, 0]
    assert decoder.tally["records of unknown sampling rate"] == 1
    flows = NetflowDecoder(state=decoder.state).decode(batch(sampled(2, 1)))
    assert rates_of(flows) == [2000, 100]


def test_packets_are_sampled_where_they_come_in_else_where_they_go_out():
    flows, _ = decoded(v9_rate("Interface", (1, 100), (2, 2000)), sampled(more=((1, 2), (9, 2), (9, 9), (0, 1), (2, 1))))
    assert rates_of(flows) == [100, 2000, 0, 100, 2000]


def test_interfaces_whose_rate_changes():
    flows, _ = decoded(
        v9_rate("Interface", (1, 100), (2, 2000)), sampled(1), v9_rate("Interface", (1, 10)), sampled(1, 2, number=301)
    )
    assert sorted(flows.sampling_rate.tolist()) == [10, 100, 2000]


def test_rates_of_templates_and_line_cards():
    flows, _ = decoded(v9_rate("Template", (300, 100), (301, 7)), sampled(1), sampled(1, number=301), sampled(1, number=302))
    assert sorted(flows.sampling_rate.tolist()) == [0, 7, 100]
    card = v9(template(300, (*x.FIELDS, (141, 4)), version=9), set_(300, record() + struct.pack(">I", 5)))
    flows, _ = decoded(v9_rate("Line Card", (4, 100), (5, 30)), card)
    assert flows.sampling_rate.tolist() == [30]


@pytest.mark.parametrize(("element", "width"), [(10, 4), (14, 4)])
def test_rates_of_interfaces_of_ipfix(element, width):
    told = set_(400, struct.pack(">IIIIII", 1, 1, 99, 2, 1, 1999))
    options = ipfix(options_template(400, ((element, width),), ((305, 4), (306, 4))), told)
    flows, _ = decoded(options, sampled(1, 2, version=10))
    assert rates_of(flows) == [100, 2000]


def test_a_sampler_of_an_interface():
    options = ipfix(
        options_template(400, ((10, 4), (302, 4)), ((34, 4),)), set_(400, struct.pack(">IIIIII", 1, 7, 100, 2, 7, 50))
    )
    given = (*x.FIELDS, (10, 4), (302, 4))
    body = b"".join(record(i) + struct.pack(">II", i, 7) for i in (1, 2))
    flows, _ = decoded(options, ipfix(template(300, given), set_(300, body)))
    assert rates_of(flows) == [100, 50]


@pytest.mark.parametrize("version", [9, 10])
def test_rates_of_another_domain_of_the_exporter(version):
    message = v9 if version == 9 else ipfix
    scope = ((1, 4),) if version == 9 else ((144, 4),)
    options = message(options_template(400, scope, ((34, 4),), version=version), set_(400, struct.pack(">II", 0, 64)), domain=0)
    flows, _ = decoded(options, sampled(1, version=version, domain=7))
    assert flows.sampling_rate.tolist() == [64]


def test_options_that_are_about_another_domain():
    told = set_(400, struct.pack(">IIII", 7, 64, 8, 32))
    options = ipfix(options_template(400, ((149, 4),), ((34, 4),)), told, domain=0)
    flows, _ = decoded(options, sampled(1, version=10, domain=7), sampled(1, version=10, domain=8))
    assert sorted(flows.sampling_rate.tolist()) == [32, 64]


def test_boot_times_hold_from_where_they_were_reported():
    fields = ((8, 4), (12, 4), (22, 4), (21, 4))
    data = set_(300, bytes(8) + struct.pack(">II", 10_000, 14_000))
    head = ipfix(template(300, fields), options_template(400, ((144, 4),), ((160, 8),)), domain=1)
    boots = [set_(400, struct.pack(">IQ", 1, (x.WHEN - ago) * 1000)) for ago in (100, 50)]
    flows, _ = decoded(head, ipfix(boots[0], data), ipfix(boots[1], data), ipfix(template(300, fields), data, domain=2))
    assert sorted((flows.start_ns // 10**9 - x.WHEN).tolist()) == [-90, -40, -40]
