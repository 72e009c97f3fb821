import pytest

from collectors.exports.netflow.exporter_state import Template
from collectors.exports.netflow.template_layouts import Layouts
from collectors.exports.records.elements import DEFAULT
from collectors.exports.records.templates import IPFIX, V9, Definition, Field, TemplateError
from tests.collectors.builders import exports


def template(length):
    return Template.of(Definition(300, -1, (Field(0, 8, length), Field(0, 12, 4))))


def test_exporters_with_the_same_template_share_its_layout():
    layouts = Layouts(DEFAULT)
    assert layouts.of(IPFIX, template(4)) is layouts.of(IPFIX, template(4))
    assert layouts.of(IPFIX, template(4)) is not layouts.of(V9, template(4))


def test_what_was_read_is_remembered_unless_it_is_bad():
    layouts = Layouts(DEFAULT, most=2)
    sets = [exports.template(300 + i)[4:] for i in range(3)]
    first = layouts.read(sets[0], IPFIX, options=False)
    assert first is layouts.read(sets[0], IPFIX, options=False)
    assert first == ((300, Template.of(Definition(300, -1, tuple(Field(0, *f) for f in exports.FIELDS)))),)
    for octets in sets[1:]:
        layouts.read(octets, IPFIX, options=False)
    assert layouts.read(sets[0], IPFIX, options=False) is not first
    for _ in range(2):
        with pytest.raises(TemplateError):
            layouts.read(sets[0][:-1], IPFIX, options=False)


def test_version_5_is_a_template_too():
    assert (Layouts(DEFAULT).v5.size, Layouts(DEFAULT).v5.fixed) == (48, True)


def test_they_are_bounded():
    layouts = Layouts(DEFAULT, most=2)
    first = layouts.of(IPFIX, template(1))
    for length in (2, 3):
        layouts.of(IPFIX, template(length))
    assert layouts.of(IPFIX, template(1)) is not first
    small = Layouts(DEFAULT, most_octets=10)
    assert small.of(IPFIX, template(1)) is not small.of(IPFIX, template(1))
