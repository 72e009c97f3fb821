import pytest

from collectors.exports.datagrams import Datagrams
from collectors.exports.netflow._template_sets import MAX_CHANGES
from collectors.exports.netflow.exporter_state import MOST_NEW
from collectors.exports.netflow.netflow import NetflowDecoder
from tests.collectors.builders.exports import WHEN, A, batch, check_laws, ipfix, set_, template


def test_templates_are_new_or_changed_or_the_same():
    decoder = NetflowDecoder()
    decoder.decode(batch(ipfix(template(300), template(300), template(301), template(300, ((8, 4),)))))
    assert (decoder.tally["templates new"], decoder.tally["templates changed"]) == (2, 1)
    decoder.decode(batch(ipfix(template(301), set_(2, bytes((1, 44, 0, 0))), set_(2, bytes((1, 99, 0, 0))))))
    assert (decoder.tally["templates new"], decoder.tally["templates changed"]) == (2, 1)
    assert [key[2] for key in decoder.known.known[A].templates] == [301]


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
    assert decoder.tally["templates refused: too many changes"] == 2 * (3000 - MAX_CHANGES)


def test_after_too_many_changes_data_waits_rather_than_be_read_by_a_template_of_before(monkeypatch):
    monkeypatch.setattr("collectors.exports.netflow._template_sets.MAX_CHANGES", 1)
    decoder = NetflowDecoder()
    flows = decoder.decode(
        batch(ipfix(template(300), set_(300, bytes(42)), template(300, ((8, 4), (12, 4))), set_(300, bytes(42))))
    )
    assert (len(flows), decoder.tally["records waiting"]) == (1, 1)
    check_laws(decoder.tally, decoder.exporters)


def wide(number):
    """A template of 250 fields that no other number has."""
    return template(300, ((8, 4), (12, 4), (1, 8), (20_000 + number, 4), *[(21_000 + k, 4) for k in range(246)]))


def test_new_templates_of_an_exporter_are_limited_and_others_have_theirs():
    decoder = NetflowDecoder()
    messages = [ipfix(wide(number), set_(300, bytes(1004))) for number in range(400)]
    decoder.decode(Datagrams.of((A, message, WHEN * 10**9) for message in messages))
    read = MOST_NEW // (len(wide(0)) - 4)
    assert decoder.tally["templates refused: too many new ones"] == 400 - read
    assert decoder.tally["records decoded"] == read  # what came with a refused one is not read as if it were one before
    decoder.decode(batch(*[messages[0]] * 3, when=WHEN - 3))
    assert decoder.tally["records decoded"] == read + 3 + (400 - read)  # known, though not new; and what waited for it
    decoder.decode(batch(ipfix(wide(999), set_(300, bytes(1004))), sender="192.0.2.200"))
    later = batch(ipfix(wide(1000), set_(300, bytes(1004))), when=WHEN + 10)
    before = decoder.tally["records decoded"]
    decoder.decode(later)
    assert decoder.tally["records decoded"] == before + 1
    check_laws(decoder.tally, decoder.exporters)
