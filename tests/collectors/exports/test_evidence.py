import numpy as np
import pytest

from collectors.exports.evidence import Counters, Delays, Drops, Evidence, Notices


@pytest.mark.parametrize("kind", [Counters, Delays, Drops, Notices])
def test_columns_are_declared_once_and_have_defaults(kind):
    rows = kind.build({"time_ns": [1, 2]})
    assert len(rows) == 2
    for column in kind.COLUMNS:
        array = getattr(rows, column.name)
        assert array.dtype == np.dtype(column.dtype)
        assert column.name == "time_ns" or array.tolist() == [column.default] * 2
    with pytest.raises(ValueError, match="time_ns has 1 rows"):
        kind.build({"time_ns": [1], "exporter": [1, 2]})


def test_evidence_is_kept_up_to_a_bound():
    kept = Evidence()
    assert kept.add(Drops.build({"time_ns": [1, 2]}), 3) == 0
    assert kept.add(Delays.build({"time_ns": [1, 2]}), 3) == 2
    assert kept.add(Notices.build({"time_ns": []}), 3) == 0
    assert (len(kept), len(kept.drops), len(kept.delays), len(kept.notices)) == (2, 1, 0, 0)
    assert [type(rows) for rows in kept] == [Drops]
