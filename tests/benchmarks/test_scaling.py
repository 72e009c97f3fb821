from types import ModuleType

import pytest

from benchmarks.scaling import constants, defaults, modules, reading, scaled, times
from prism.diagnosis import constants as diagnosis
from prism.diagnosis.assessment.confidence import completeness
from prism.layout import constants as c


@pytest.fixture
def table():
    made = ModuleType("prism.made.constants")
    made.SHARE, made.COUNT, made.NAMES, made.SURE, made._HIDDEN = 0.25, 3, ("a", "b"), True, 5.0
    made.NESTED = {"dp": ((0.5, 2), (1.5, 4))}
    return made


def test_every_number_is_found_and_named(table):
    assert [(str(one), one.value) for one in constants(table)] == [
        ("made.SHARE", 0.25),
        ("made.COUNT", 3),
        ("made.NESTED['dp'][0][0]", 0.5),
        ("made.NESTED['dp'][0][1]", 2),
        ("made.NESTED['dp'][1][0]", 1.5),
        ("made.NESTED['dp'][1][1]", 4),
    ]


def test_the_tables_of_the_analysis_are_found():
    assert c in modules()
    assert {"layout.BEAM", "layout.KIND_SCORES['one cycle'][0]"} <= {str(one) for one in constants(c)}
    assert diagnosis in modules()


def test_one_number_is_scaled_and_comes_back(table):
    before = table.NESTED
    one = next(one for one in constants(table) if str(one) == "made.NESTED['dp'][1][0]")
    with scaled(one, 2):
        assert table.NESTED == {"dp": ((0.5, 2), (3.0, 4))}
        assert table.SHARE == 0.25
    assert table.NESTED is before
    with pytest.raises(ZeroDivisionError), scaled(one, 2):
        raise ZeroDivisionError
    assert table.NESTED is before


def test_defaults_that_read_a_table_are_scaled_with_it():
    one = next(one for one in constants(diagnosis) if one.name == "UNKNOWN_RATE")
    assert defaults(one) == [(completeness, "unknown_rate")]
    with scaled(one, 2):
        assert completeness.__kwdefaults__["unknown_rate"] == 200
    assert completeness.__kwdefaults__["unknown_rate"] == 100
    with reading([diagnosis]) as names:
        assert diagnosis.EXAMINED
    assert names >= {(diagnosis.__name__, "EXAMINED"), (diagnosis.__name__, "UNKNOWN_RATE")}


@pytest.mark.parametrize(
    ("value", "factor", "expected"),
    [
        (3, 0.5, 2),
        (3, 0.1, 1),
        (0, 2, 0),
        (2.0, 1.25, 2.5),
        (-4.0, 2, -8.0),
        (0.25, 2, 0.5),
        (0.75, 2, 6 / 7),
        (1.0, 2, 2.0),
    ],
)
def test_scaled_numbers_stay_what_they_are(value, factor, expected):
    found = times(value, factor)
    assert found == pytest.approx(expected)
    assert type(found) is type(value)


def test_what_is_read_is_noted(table):
    with reading([table]) as names:
        assert table.SHARE == 0.25
        assert table.NAMES
    assert names == {("prism.made.constants", "SHARE"), ("prism.made.constants", "NAMES")}
    assert table.COUNT == 3
    assert ("prism.made.constants", "COUNT") not in names
