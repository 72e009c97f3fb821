from collections.abc import Sequence

import numpy as np
import pytest

from collectors.addresses.address_list import AddressList
from prism.model import Finding, Job
from prism.storage._packing_plans import Source, Written, plan, signature
from prism.tracking.board import Board


def test_types_have_signatures_of_their_own():
    assert len({signature(kind) for kind in (Board, Finding, Job)}) == 3


@pytest.mark.parametrize("kind", [object, list[int], dict[str, int], int | str], ids=str)
def test_types_that_cannot_be_packed(kind):
    with pytest.raises(TypeError, match="cannot be packed"):
        plan(kind)


def test_values_are_columns_of_numbers():
    to = Written()
    plan(tuple[str, ...]).write([("a", "b"), ("a",)], to)
    assert [array.tolist() for array in to.arrays] == [[2, 1], [0, 1, 0]]
    assert plan(tuple[str, ...]).read(2, Source(iter(to.arrays), list(to.texts), iter(()))) == [("a", "b"), ("a",)]


def test_lengths_below_zero_are_refused():
    source = Source(iter([np.array([-1])]), [], iter(()))
    with pytest.raises(ValueError, match="negative length"):
        plan(tuple[int, ...]).read(1, source)


def test_a_sequence_comes_back_as_a_tuple():
    to, addresses = Written(), AddressList(np.array([[0, 0xFFFF_0A00_0001], [0, 0xFFFF_0A00_0002]], np.uint64))
    plan(Sequence[str]).write([addresses], to)
    assert plan(Sequence[str]).read(1, Source(iter(to.arrays), list(to.texts), iter(()))) == [("10.0.0.1", "10.0.0.2")]
