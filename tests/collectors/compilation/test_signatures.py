import numpy as np
import pytest
from numba import typeof
from numba.core import types

from collectors.compilation.signatures import decode, encode
from collectors.flows.flow_state import empty_table
from collectors.flows.flow_tracking import Room, empty_scratch

READ_ONLY = np.zeros(3)
READ_ONLY.flags.writeable = False
VALUES = [
    1,
    1.5,
    True,
    None,
    np.zeros(3, np.uint16),
    np.zeros((3, 4)).T,
    np.zeros((3, 4))[:, 1:],
    READ_ONLY,
    (1, 2.0),
    (np.zeros(1), np.zeros(2)),
    Room(1, 2, 3),
    empty_table(),
    empty_scratch(),
    np.zeros(1, np.dtype([("a", np.uint8), ("b", np.float64, (2,))])),
    np.zeros(1, np.dtype([("a", np.uint8), ("b", np.int64)], align=True))[0],
]


@pytest.mark.parametrize("value", VALUES, ids=lambda v: type(v).__name__)
def test_a_type_comes_back(value):
    assert decode(encode(typeof(value))) == typeof(value)


def test_defaults_come_back():
    assert decode(encode(types.Omitted(5))) == types.Omitted(5)


def test_other_types_are_refused():
    with pytest.raises(ValueError, match="unknown type"):
        encode(types.unicode_type)
