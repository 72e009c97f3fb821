from dataclasses import replace

import numpy as np

from collectors.columns.record import Flows
from prism.jobs.job_records import around, by_address, largest_first, naming, rows_of
from prism.model import Job

A, B, C, D = (f"10.0.0.{n}" for n in (2, 10, 11, 12))
JOB = Job("job-1", (A, B), (), 0, 9)


def flows(*pairs):
    """Records between places in (A, B, C, D), sent one after another."""
    src, dst = np.array(pairs, np.int32).reshape(-1, 2).T
    start = np.arange(len(pairs), dtype=np.int64)[::-1].copy()
    return Flows.build({"start_ns": start, "end_ns": start + 1, "src": src, "dst": dst}, endpoints=(A, B, C, D))


def test_addresses_are_in_the_order_of_their_numbers():
    assert sorted((B, A, "10.0.0.1"), key=by_address) == ["10.0.0.1", A, B]
    assert by_address("fe80::a") < by_address("fe80::10")


def test_the_largest_job_is_first_then_the_oldest():
    larger, older = replace(JOB, endpoints=(A, B, C), start_ns=5), replace(JOB, start_ns=-1)
    assert sorted((JOB, older, larger), key=largest_first) == [larger, older, JOB]


def test_records_around_a_job_have_an_end_in_it():
    found = around(flows((0, 1), (2, 3), (3, 0)), JOB)
    assert [(found.endpoints[s], found.endpoints[d]) for s, d in zip(found.src, found.dst, strict=True)] == [(A, B), (D, A)]


def test_records_of_a_job_have_both_ends_in_it_and_are_in_order_of_sending():
    assert rows_of(flows((0, 1), (0, 3), (1, 0)), JOB).tolist() == [2, 0]


def test_members_that_move_nothing_are_named():
    only = Flows.build({"start_ns": []}, endpoints=(A,))
    assert naming(only, JOB).endpoints == (A, B)
    assert naming(flows((0, 1)), JOB).endpoints == (A, B, C, D)
