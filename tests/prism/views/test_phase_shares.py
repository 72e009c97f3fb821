from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.boards import MS, START, board
from prism.model import PHASES
from prism.views.phase_shares import MAX_ROWS, shares
from prism.views.step_cells import CellRange

LARGE = board(96, 10, stages=4)
FOUND = LARGE.jobs[0].found


def slow(found, start, end, ranks, bins):
    """The same by hand: the share of each phase in each bin."""
    phases = found.timeline.phases
    edges = np.linspace(start, end, bins + 1)
    out = np.zeros((len(PHASES), bins))
    for begin, over, rank, phase in zip(phases.start_ns, phases.end_ns, phases.rank, phases.phase, strict=True):
        if rank in ranks:
            out[phase] += np.clip(np.minimum(over, edges[1:]) - np.maximum(begin, edges[:-1]), 0, None)
    return out / ((end - start) / bins * len(ranks))


@given(st.integers(0, 5000), st.integers(1, 4000), st.integers(1, 12))
def test_shares_are_those_by_hand(begin, length, bins):
    start, end = START + begin * MS, START + (begin + length) * MS
    made = shares(FOUND, CellRange(start, end), singles=[3], bins=bins, topology=LARGE.topology)
    for row, ranks in ((0, {3}), (2, set(range(24, 48)))):
        table = np.zeros((len(PHASES), bins))
        for at, own in enumerate(made["share"][row]):
            for phase, part in own:
                table[int(phase), at] = part
        assert table == pytest.approx(slow(FOUND, start, end, ranks, bins), abs=0.011)


def test_rows_are_ranks_and_the_groups_of_the_others():
    made = shares(FOUND, CellRange(), singles=[30, 2, 30, 999], topology=LARGE.topology)
    assert [(row["rank"], row["ranks"], row["stage"]) for row in made["rows"]] == [
        (30, 1, 1),
        (2, 1, 0),
        (None, 23, 0),
        (None, 23, 1),
        (None, 24, 2),
        (None, 24, 3),
    ]
    assert made["rows"][0]["host"] == "server3"
    assert [row["rank"] for row in shares(FOUND, CellRange(), singles=[5], alone=True)["rows"]] == [5]


def test_many_groups_are_joined_by_stage():
    many = board(600, 4, stages=100).jobs[0].found
    made = shares(many, CellRange())
    assert len(made["rows"]) <= MAX_ROWS
    assert sum(row["ranks"] for row in made["rows"]) == 600


def test_without_phases_nothing_is_shown():
    phases = FOUND.timeline.phases
    none = type(phases)(*(getattr(phases, name)[:0] for name in ("start_ns", "end_ns", "rank", "step", "phase")))
    made = shares(replace(FOUND, timeline=replace(FOUND.timeline, phases=none)), CellRange(), bins=4)
    assert made["share"] == [[[]] * 4] * 4
