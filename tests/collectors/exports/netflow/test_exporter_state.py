import json

import pytest

from collectors.exports.netflow.exporter_state import MAX_SOURCES, Exporter, Exporters, Template
from collectors.exports.netflow.sampling_rates import ALL, Scope
from collectors.exports.records.templates import Definition, Field
from collectors.packets.plain_decoder import DecodeError

ONE = Template.of(Definition(300, -1, (Field(0, 8, 4), Field(9, 7, 65535))))


def test_a_template_is_kept_packed():
    assert ONE.definition(300) == Definition(300, -1, (Field(0, 8, 4), Field(9, 7, 65535)))


def test_the_least_recently_used_template_goes():
    exporter = Exporter("a", most_templates=3, most_octets=1 << 20)
    assert [exporter.define((10, 1, n), ONE) for n in (300, 301, 302)] == [0, 0, 0]
    assert exporter.use((10, 1, 300)) == ONE
    assert exporter.define((10, 1, 303), ONE) == 1
    assert [key[2] for key in exporter.templates] == [302, 300, 303]
    exporter.withdraw((10, 1, 302))
    assert exporter.use((10, 1, 302)) is None
    assert exporter.octets == 2 * ONE.octets
    small = Exporter("a", most_templates=1000, most_octets=2 * ONE.octets)
    assert sum(small.define((10, 1, n), ONE) for n in range(300, 310)) == 8


def test_all_exporters_together_have_a_bound():
    exporters = Exporters(most_octets=10 * ONE.octets)
    members, _ = exporters.admit(["a", "b"])
    for n in range(300, 320):
        members["a"].define((10, 1, n), ONE)
    members["b"].define((10, 1, 300), ONE)
    assert exporters.drop_templates() > 0
    assert len(members["b"].templates) == 1
    assert sum(e.octets for e in members.values()) <= 10 * ONE.octets


def test_sources_are_bounded():
    exporter = Exporter("a", most_templates=3, most_octets=1 << 20)
    first = exporter.source(10, 0)
    for n in range(MAX_SOURCES):
        exporter.source(10, n)
        assert exporter.source(10, 0) is first
    assert len(exporter.sources) == MAX_SOURCES
    exporter.source(10, 9999)
    assert len(exporter.sources) == MAX_SOURCES


def test_the_state_is_plain_and_comes_back():
    exporters = Exporters()
    members, _ = exporters.admit(["a", "b"])
    members["a"].define((10, 1, 300), ONE)
    members["a"].announce(10, 1, Scope(sampler=4), 512)
    members["a"].announce(10, 1, Scope(interface=2), 64)
    members["b"].source(10, 1).boot_ns = 77
    again = Exporters()
    again.from_state(json.loads(json.dumps(exporters.to_state())))
    assert again.to_state() == exporters.to_state()
    assert again.known["a"].rated
    with pytest.raises(DecodeError, match="damaged"):
        again.from_state({"schema": "prism-templates/1"})
    few = Exporters(most=1)
    few.from_state(exporters.to_state())
    assert list(few.known) == ["b"]


def test_a_state_with_samplers_alone_comes_back():
    exporters = Exporters()
    exporters.from_state(
        {"schema": "prism-templates/1", "exporters": {"a": {"templates": [], "sources": [[9, 3, -1, [[-1, 7], [5, 9]]]]}}}
    )
    assert exporters.known["a"].source(9, 3).rates.announced == {ALL: 7, Scope(sampler=5): 9}
