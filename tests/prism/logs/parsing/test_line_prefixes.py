import pytest

from prism.logs.parsing.line_prefixes import of_path, prefix


@pytest.mark.parametrize(
    ("line", "rank", "host", "level", "rest"),
    [
        ("[rank3]: Traceback (most recent call last):", 3, "", "", "Traceback (most recent call last):"),
        ("[default0]:[rank8]: x", 8, "", "", "x"),
        ("[1,12]<stderr>: x", 12, "", "", "x"),
        ("12:   File", 12, "", "", "  File"),
        ("node0:4889:4908 [0] NCCL INFO Tree 0", None, "node0", "I", "NCCL INFO Tree 0"),
        ("Nov 26 05:17:17 gpu-7 kernel: NVRM: Xid", None, "gpu-7", "", "NVRM: Xid"),
        ("[12345.123456] NVRM: Xid", None, "", "", "NVRM: Xid"),
        ("E1126 05:21:12.816000 5458 torch/distributed/x.py:836]   File", None, "", "E", "  File"),
        ("[W1126 05:21:08.639824109 socket.cpp:207] [c10d] The", None, "", "W", "[c10d] The"),
        ("2024-11-26T05:17:17.5Z node7 kernel: x", None, "node7", "", "x"),
        ("[NeMo E 2024-11-26 05:17:17 x:1] y", None, "", "E", "[NeMo E 2024-11-26 05:17:17 x:1] y"),
        ("[rank3]:[W602 11:18:52.489301002 ProcessGroupNCCL.cpp:2111] x", 3, "", "W", "x"),
        ("[E ProcessGroupNCCL.cpp:458] [Rank 0] x", 0, "", "E", "x"),
        ("Epoch 0:   6%|#  | 3/5 [6:28<94:39, 1.37it/s, loss=2.6][E x.cpp:458] [Rank 0] y", 0, "", "E", "y"),
        ("plain", None, "", "", "plain"),
    ],
)
def test_writers_of_known_launchers(line, rank, host, level, rest):
    own = prefix(line)
    assert (own.rank, own.host, own.level, own.rest) == (rank, host, level, rest)


def test_ranks_and_hosts_in_paths():
    assert of_path("run/rank3.log") == (3, "")
    assert of_path("job/attempt_0/7/stderr.log") == (7, "")
    assert of_path("logs/node07/train.log") == (None, "node07")
    assert of_path("dmesg_node02.log") == (None, "node02")
    assert of_path("train.log") == (None, "")
