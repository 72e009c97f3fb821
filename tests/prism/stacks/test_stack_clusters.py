from prism.stacks.flight_recorder import GroupState, Recording
from prism.stacks.stack_clusters import clusters, outliers
from prism.stacks.stack_dumps import Dump, Frame, Thread

WAIT = (Frame("all_reduce", "x/torch/distributed/distributed_c10d.py", 1), Frame("step", "train.py", 5))
NATIVE = (Frame("reduce_gradients", "train.py", 9), Frame("step", "train.py", 5))
READ = (Frame("read", "data/loader.py", 7), Frame("step", "train.py", 2))
RECV = (Frame("recv", "x/torch/distributed/distributed_c10d.py", 1), Frame("backward", "pipe.py", 5))


def dumps(*frames):
    return [Dump(f"rank{i}", i, (Thread("MainThread", own),)) for i, own in enumerate(frames)]


def at(*enqueued):
    return [
        Recording(f"fr{i}", i, (GroupState("0", "pg", (), n, n, n - 1, "nccl:all_reduce", 8),)) for i, n in enumerate(enqueued)
    ]


def test_the_busy_one_among_those_that_wait():
    found = clusters(dumps(WAIT, WAIT, READ, WAIT))
    assert [one.ranks for one in found] == [(0, 1, 3), (2,)]
    told = outliers(found, [])
    assert (told.ranks, told.rule) == ((2,), "busy")
    assert "read" in told.why


def test_waits_in_compiled_code_have_no_frame():
    told = outliers(clusters(dumps(NATIVE, READ, NATIVE, NATIVE, RECV, NATIVE)), [])
    assert told.ranks == (1,)


def test_absent_ranks():
    assert outliers(clusters(dumps(WAIT, WAIT, WAIT)), [], world=4).ranks == (3,)


def test_who_is_behind_in_its_collectives():
    told = outliers(clusters(dumps(WAIT, WAIT, WAIT, WAIT)), at(9, 9, 8, 9))
    assert (told.ranks, told.rule) == ((2,), "behind")
    assert "nccl:all_reduce 9" in told.why


def test_nobody_differs():
    assert outliers(clusters(dumps(WAIT, WAIT)), at(9, 9)).ranks == ()
    assert outliers((), []).ranks == ()
    assert outliers(clusters(dumps(READ, WAIT, RECV, NATIVE)), []).rule in ("", "busy", "alone")
