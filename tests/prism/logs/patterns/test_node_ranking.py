from prism.logs.parsing.log_scanner import Kinds, scan
from prism.logs.patterns.log_diagnosis import diagnose

PEER = b"RuntimeError: [x/gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.0.0.%d]:38120.\n"
LATE = b"[Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=%d, OpType=ALLREDUCE, Timeout(ms)=6) ran\n"


def run(texts):
    kinds = Kinds()
    return diagnose([scan(f"rank{i}.log", [text], kinds, rank=i) for i, text in enumerate(texts)])


def test_the_silent_one_among_those_that_wait():
    said = run([PEER % 2, PEER % 2, b"step 1\n", PEER % 0])
    assert (said.suspects[0].name, said.suspects[0].how, said.cause) == ("rank 2", "silent", "killed")


def test_the_silent_one_in_a_stream_of_all_ranks():
    text = b"".join(b"[rank%d]: step 1\n" % i for i in range(4)) + b"".join(b"[rank%d]: " % i + PEER % 2 for i in (0, 1, 3))
    said = diagnose([scan("train.log", [text], Kinds())])
    assert (said.suspects[0].name, said.suspects[0].how) == ("rank 2", "silent")


def test_a_rank_that_is_absent_between_others():
    text = b"".join(b"[rank%d]: " % i + LATE % (i, 90) for i in (1, 2, 3))
    said = diagnose([scan("train.log", [text], Kinds())])
    assert (said.suspects[0].name, said.suspects[0].how) == ("rank 0", "silent")


def test_the_one_that_is_behind_in_its_collectives():
    said = run([LATE % (0, 90), LATE % (1, 88), LATE % (2, 90), LATE % (3, 90)])
    assert (said.suspects[0].name, said.suspects[0].how) == ("rank 1", "behind")


def test_the_same_error_everywhere_is_nobody_s_own():
    said = run([b"KeyError: 'x'\n"] * 4)
    assert said.suspects[0].how == "everywhere"
    assert said.cause == "user code"
    assert said.confidence <= 0.5
