import pytest

from collectors.elements import DEFAULT
from collectors.exporters import Exporters
from collectors.exportsets import MOST_CHANGES, Sorter
from collectors.layouts import Layouts
from collectors.netflow import NetflowDecoder
from collectors.waiting import WaitingRoom
from tests.collectors import exports as x
from tests.collectors.exports import A, batch, check_laws, ipfix, record, rows, set_, template, v5, v9


def sorter(*payloads):
    datagrams = batch(*payloads)
    members, _ = Exporters().admit([A])
    return Sorter(datagrams, [members[A]], Layouts(DEFAULT))


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
    s.read_templates(Accounts())
    sets = s.sorted(WaitingRoom())
    assert [sets.layouts[i].size for i in sets.layout] == [42, 42, 8]
    assert sets.position.tolist() == [1, 2, 4]


@pytest.mark.parametrize("number", [300, None])
def test_no_storm_of_templates_takes_much(number):
    storm = []
    for i in range(3000):
        fields = ((8, 4), (12, 4), (9000 + i, 1 + i % 200))
        storm.append(template(number or 256 + i, fields))
        storm.append(set_(number or 256 + i, bytes(300)))
    decoder = NetflowDecoder()
    decoder.decode(batch(*(ipfix(*storm[i : i + 40]) for i in range(0, len(storm), 40))))
    decoder.decode(batch(*(ipfix(*storm[i : i + 40]) for i in range(0, len(storm), 40))))
    check_laws(decoder.tally, decoder.exporters)
    assert len(decoder.known.known[A].templates) <= 1000
    assert decoder.tally["templates refused: too many changes"] == 2 * (3000 - MOST_CHANGES)


def test_a_message_of_nothing_but_sets_is_taken_apart():
    decoder = NetflowDecoder()
    flows = decoder.decode(batch(ipfix(template(300), *[set_(300, b"")] * 15000, set_(300, record()))))
    assert len(rows(flows)) == 1
    check_laws(decoder.tally, decoder.exporters)
