import re

import pytest

from benchmarks import flood
from collectors.exports.records.templates import unpack_templates


def test_what_floods_is_what_it_says():
    assert len({flood.templates(k) for k in range(500)}) == 500
    (template,) = unpack_templates(flood.templates(7)[20:], 10, options=False)
    assert (template.id, len(template.fields)) == (263, flood.FIELDS)
    assert all(int.from_bytes(make(3)[2:4], "big") == len(make(3)) for make in flood.MAKERS.values())


@pytest.mark.parametrize("kind", ["alone", *flood.MAKERS])
def test_the_good_exporter_loses_nothing(capsys, kind):
    assert flood.main(["--seconds", "0.3", "--rate", "500", "--flood", "1000", "--only", kind]) == 0
    found = re.findall(r"(?:sent|received|refused|decoded|kernel) +([\d,]+)", capsys.readouterr().out)
    numbers = [int(number.replace(",", "")) for number in found]
    sent, received, refused, decoded, flooded, _, lost = numbers
    assert (received, refused, decoded) == (sent, 0, sent)
    assert lost == 0
    assert (flooded > 0) == (kind != "alone")
