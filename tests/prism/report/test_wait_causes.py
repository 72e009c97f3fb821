import numpy as np

from prism.model import PHASES, Phases, Spans, Timeline
from prism.report.wait_causes import Wait, waits

MS = 1_000_000


def timeline(spans, phases):
    """`spans`: (start, end, rank, peer, octets) ms; `phases`: (start, end, rank, phase) ms in order of rank."""
    start, end, rank, peer, octets = (np.array(column, np.int64) for column in zip(*spans, strict=True))
    own = Spans(start * MS, end * MS, rank.astype(np.int32), np.zeros(len(spans), np.int8), peer.astype(np.int32), octets)
    begins, ends, ranks, words = zip(*phases, strict=True)
    code = np.array([PHASES.index(word) for word in words], np.int8)
    made = Phases(np.array(begins) * MS, np.array(ends) * MS, np.array(ranks, np.int32), np.zeros(len(phases), np.int32), code)
    return Timeline(tuple(np.zeros((0, 2), np.int64) for _ in range(3)), (), own, made)


PHASES_OF_THREE = [
    (0, 10, 0, "compute"),
    (10, 50, 0, "idle"),
    (50, 60, 0, "dp"),
    (0, 20, 1, "compute"),
    (20, 40, 1, "idle"),
    (40, 50, 1, "compute"),
    (50, 60, 1, "dp"),
    (0, 40, 2, "compute"),
]


def test_a_wait_leads_to_what_the_sender_did_meanwhile():
    spans = [(50, 60, 1, 0, 900), (50, 60, 0, 1, -900), (40, 41, 2, 1, 9), (40, 41, 1, 2, -9), (5, 6, 0, 2, -9)]
    assert waits(timeline(spans, PHASES_OF_THREE), most=9) == [
        Wait(0, 10 * MS, 50 * MS, 1, 45 * MS),  # rank 1 computed at last
        Wait(1, 20 * MS, 40 * MS, 2, 30 * MS),
    ]
    assert len(waits(timeline(spans, PHASES_OF_THREE), most=1)) == 1


def test_a_wait_that_no_transfer_ends_is_left_out():
    spans = [(90, 95, 1, 0, 900), (90, 95, 0, 1, -900)]
    assert waits(timeline(spans, PHASES_OF_THREE), most=9) == []
    assert waits(timeline([(50, 60, 1, 0, 900)], PHASES_OF_THREE), most=9) == []
