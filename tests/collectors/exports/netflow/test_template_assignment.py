from dataclasses import replace

from collectors.exports.netflow._template_sets import read_templates
from collectors.exports.netflow.exporter_state import Exporters
from collectors.exports.netflow.netflow import NetflowDecoder
from collectors.exports.netflow.template_assignment import TemplateAssignment
from collectors.exports.netflow.template_layouts import Layouts
from collectors.exports.netflow.waiting_sets import WaitingRoom
from collectors.exports.records.elements import DEFAULT
from tests.collectors.builders import exports as x
from tests.collectors.builders.exports import A, batch, check_laws, ipfix, record, rows, set_, template, v5, v9


def sorter(*payloads):
    datagrams = batch(*payloads)
    members, _ = Exporters().admit([A])
    return TemplateAssignment(datagrams, [members[A]], Layouts(DEFAULT))


def test_sources_are_domains_of_versions():
    s = sorter(ipfix(domain=1), v9(domain=1), v5(x.v5_record()), ipfix(domain=1), ipfix(domain=2**32 - 1), b"x")
    assert sorted(zip(s.versions, s.domains, strict=True)) == [(5, 0x102), (9, 1), (10, 1), (10, 2**32 - 1)]
    assert s.source[0] == s.source[3]
    assert s.source[5] == -1


def test_sets_get_the_template_that_held_when_they_came():
    class Accounts:
        def add(self, *_):
            pass

    s = sorter(
        ipfix(set_(300, record()), template(300), set_(300, record()), template(300, ((8, 4), (12, 4))), set_(300, bytes(8)))
    )
    read_templates(s, Accounts())
    sets = s.sorted(WaitingRoom())
    assert [sets.layouts[i].size for i in sets.layout] == [42, 42, 8]
    assert sets.position.tolist() == [1, 2, 4]


def test_a_message_of_nothing_but_sets_is_taken_apart():
    decoder = NetflowDecoder()
    flows = decoder.decode(batch(ipfix(template(300), *[set_(300, b"")] * 15000, set_(300, record()))))
    assert len(rows(flows)) == 1
    check_laws(decoder.tally, decoder.exporters)


def test_memory_that_is_used_again_keeps_its_size_when_sets_that_waited_are_read():
    decoder = NetflowDecoder()
    decoder.decode(batch(ipfix(set_(300, record()))))
    later = batch(ipfix(template(300), sequence=1))
    memory = bytearray(later.data)
    flows = decoder.decode(replace(later, data=memory))
    assert (len(rows(flows)), bytes(memory)) == (1, later.data)
