import json
import os
import pickle
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.stacks.flight_recorder import parse


def dump(last=4, done=3, rank=None):
    """As PyTorch 2.13 writes it, with gloo."""
    entries = [
        {
            "collective_seq_id": i,
            "is_p2p": False,
            "process_group": ("0", "default_pg"),
            "profiling_name": "gloo:all_reduce",
            "state": "completed" if i <= done else "scheduled",
            "retired": i <= done,
            "input_sizes": [[8, 2]],
            "input_dtypes": ["BFloat16"],
        }
        for i in range(1, last + 1)
    ]
    status = {"0": {"last_enqueued_collective": last, "last_started_collective": -1, "last_completed_collective": done}}
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}}
    return {"version": "2.10", "pg_config": config, "pg_status": status, "entries": entries, "rank": rank}


@pytest.mark.parametrize("write", [pickle.dumps, lambda one: json.dumps(one).encode()])
def test_how_far_a_rank_is(write):
    one = parse(write(dump()), "fr_0", 0)
    assert one is not None
    [group] = one.groups
    assert (group.enqueued, group.completed, group.operation, group.ranks) == (4, 3, "gloo:all_reduce", (0, 1))
    assert group.octets == 32


class Evil:
    def __reduce__(self):
        return os.system, ("false",)


def test_a_pickle_that_runs_code_is_refused():
    with pytest.raises(ValueError, match=r"^fr_0: holds .*system"):
        parse(pickle.dumps(Evil()), "fr_0", 0)


def test_damage():
    with pytest.raises(ValueError, match="truncated"):
        parse(pickle.dumps(dump())[:-20], "fr_0", 0)
    assert parse(b"{", "a", 0) is None
    assert parse(b"text", "a", 0) is None


@given(st.binary(max_size=200))
def test_any_octets(data):
    for head in (b"", b"\x80\x04", pickle.dumps(dump())[:300]):
        with suppress(ValueError):
            parse(head + data, "a", 0)
