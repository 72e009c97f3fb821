import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.exports.records.elements import DEFAULT
from collectors.exports.records.templates import IPFIX, SCOPE, V9, Definition, Field, TemplateError, layout_of, unpack_templates
from tests.collectors.builders import exports as x


def body(set_of):
    return set_of[4:]


def test_templates_of_a_set():
    two = body(x.template(300, ((8, 4), (7, 65535, 9)))) + body(x.template(301, ((12, 4),)))
    found = unpack_templates(two + bytes(3), IPFIX, options=False)
    assert found == [Definition(300, -1, (Field(0, 8, 4), Field(9, 7, 65535))), Definition(301, -1, (Field(0, 12, 4),))]
    assert unpack_templates(struct.pack(">HH", 300, 0), IPFIX, options=False) == [Definition(300, -1, ())]
    high = struct.pack(">HHHH", 300, 1, 0x8008, 4)  # in version 9 the upper bit is none of an enterprise
    assert unpack_templates(high, V9, options=False) == [Definition(300, -1, (Field(0, 0x8008, 4),))]


@pytest.mark.parametrize("version", [V9, IPFIX])
def test_options_templates_have_a_scope(version):
    octets = body(x.options_template(400, ((1, 4), (2, 2)), ((34, 4),), version=version)) + bytes(2)
    (found,) = unpack_templates(octets, version, options=True)
    assert (found.id, found.scope) == (400, 2)
    assert [field.enterprise for field in found.fields] == ([SCOPE, SCOPE, 0] if version == V9 else [0, 0, 0])


@pytest.mark.parametrize(
    ("octets", "version", "options", "reason"),
    [
        (struct.pack(">HH", 255, 1) + bytes(4), IPFIX, False, "bad template id"),
        (struct.pack(">HHHH", 300, 2, 8, 4), IPFIX, False, "cut off"),
        (struct.pack(">HHHH", 300, 1, 0x8008, 4), IPFIX, False, "cut off"),
        (struct.pack(">HHHH", 300, 1, 8, 0), V9, False, "no octets"),
        (struct.pack(">HH", 300, 10_001) + bytes(40_004), IPFIX, False, "too many fields"),
        (struct.pack(">HHH", 300, 1, 2) + bytes(4), IPFIX, True, "without a scope"),
        (struct.pack(">HHH", 300, 3, 4) + bytes(8), V9, True, "half a field"),
    ],
)
def test_bad_templates(octets, version, options, reason):
    good = body(x.options_template(299, ((1, 4),), ((34, 4),), version=version) if options else x.template(299, ((8, 4),)))
    with pytest.raises(TemplateError, match=reason) as told:
        unpack_templates(good + octets, version, options=options)
    assert [definition.id for definition in told.value.good] == [299]


@given(st.binary(max_size=200), st.sampled_from([V9, IPFIX]), st.booleans())
def test_arbitrary_octets(octets, version, options):
    try:
        found = unpack_templates(octets, version, options=options)
    except TemplateError as error:
        found = error.good
    for definition in found:
        layout = layout_of(definition, DEFAULT)
        assert layout.size > 0 or not definition.fields


def test_a_layout_says_where_our_columns_are():
    fields = ((9999, 3), (85, 8), (27, 16), (1, 4), (0, 0), (2, 9), (1, 2))
    layout = layout_of(Definition(300, -1, tuple(Field(0, *f) for f in fields)), DEFAULT)
    assert (layout.size, layout.fixed, layout.options) == (3 + 8 + 16 + 4 + 9 + 2, True, False)
    slots = {
        (m.column, int(place)): int(take)
        for m, place, take in zip(layout.meanings, layout.slots[4], layout.slots[2], strict=True)
    }
    assert slots == {("src", 11): 8, ("src", 19): 8, ("octets", 27): 4}  # a delta is better than a total; 9 octets are no count
    varying = layout_of(Definition(300, -1, (Field(0, 82, 65535), Field(0, 1, 4))), DEFAULT)
    assert (varying.size, varying.fixed, varying.lengths.tolist()) == (5, False, [-1, 4])
    assert isinstance(varying.slots, np.ndarray)
