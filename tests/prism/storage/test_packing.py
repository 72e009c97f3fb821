from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from prism.model import Severity
from prism.storage.packing import packed, unpacked


class Pair(NamedTuple):
    name: str
    kind: Literal["a", "b"]


@dataclass(frozen=True, eq=False)
class Thing:
    steps: tuple[NDArray[np.int64], ...]
    pairs: tuple[Pair, ...]
    rails: Mapping[str, int | None]
    notes: Mapping[str, Any]
    worth: Severity
    both: tuple[tuple[str, ...], float]
    sure: bool = True


@dataclass(frozen=True)
class Other:
    name: str


def octets(thing):
    return np.frombuffer(b"".join(packed(thing, Thing, "thing/1")), np.uint8)


TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)


@given(TEXT, st.floats(allow_nan=False), st.lists(st.integers(-(2**63), 2**63 - 1), max_size=5), st.booleans())
def test_a_value_comes_back_as_it_was(text, number, times, sure):
    steps = (np.array(times, np.int64).reshape(-1, 1), np.zeros((0, 2), np.int64))
    notes = {"x": np.float64(2.5), "names": (text, "b"), "a": np.array([1, 2])}
    made = Thing(
        steps, (Pair(text, "b"), Pair("", "a")), {text: 3, "none": None}, notes, Severity.INFO, ((text,), number), sure
    )
    back = unpacked(octets(made), Thing, "thing/1")
    assert [(own.shape, own.tolist()) for own in back.steps] == [(own.shape, own.tolist()) for own in steps]
    assert (back.pairs, back.rails, back.worth, back.both, back.sure) == (
        *(made.pairs, made.rails, made.worth, made.both),
        sure,
    )
    assert back.notes == {"x": 2.5, "names": [text, "b"], "a": [1, 2]}


def test_another_schema_or_type_is_refused():
    made = octets(Thing((), (), {}, {}, Severity.INFO, ((), 0.0)))
    with pytest.raises(ValueError, match=r"no thing/2: it has the schema 'thing/1' of another version"):
        unpacked(made, Thing, "thing/2")
    with pytest.raises(ValueError, match="another version"):
        unpacked(made, Other, "thing/1")
