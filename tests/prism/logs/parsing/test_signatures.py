from pathlib import Path

import pytest

from prism.logs.parsing.signatures import CAUSES, SIGNATURES, is_severe, load, recognize


@pytest.mark.parametrize(
    ("text", "cause", "role"),
    [
        ("NVRM: Xid (PCI:0000:1a:00): 79, pid='<unknown>', GPU has fallen off the bus.", "hardware", "root"),
        ("NVRM: Xid (PCI:0000:1a:00): 31, pid=1, MMU Fault", "user code", "root"),
        ("mlx5_core 0000:3b:00.0 eth0: Link down", "network", "root"),
        ("Out of memory: Killed process 99 (python3)", "out of memory", "root"),
        ("pcieport 0000:00:01.0: AER: Uncorrected (Fatal) error received", "hardware", "root"),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB", "out of memory", "root"),
        ("RuntimeError: CUDA error: uncorrectable ECC error encountered", "hardware", "root"),
        ("OSError: [Errno 28] No space left on device", "storage", "root"),
        ("RuntimeError: Rank 3: found NaN in local grad norm in backward pass", "numerics", "root"),
        ("zlib.error: Error -3 while decompressing data", "data", "root"),
        ("KeyError: 'input_ids'", "user code", "root"),
        ("NET/IB: Got completion from peer 10.0.0.1<1> with status=12 opcode=0", "network", "root"),
        (
            "[Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=55, OpType=ALLREDUCE, Timeout(ms)=600000)",
            "peer",
            "symptom",
        ),
        ("RuntimeError: [x/gloo/transport/tcp/pair.cc:553] Connection closed by peer [10.10.1.1]:38120.", "peer", "symptom"),
        ("NVRM: fallen off the bus and is not responding to commands.", "hardware", "root"),
        ("[ERROR] [launch.py:324:sigkill_handler] ['python3', 'run.py'] exits with return code = -9", "killed", "symptom"),
        (
            "NCCL WARN NET/IB : Got completion from peer 10.0.0.1<448> with status=12 opcode=129 vendor err 129",
            "network",
            "root",
        ),
        (
            "[PG ID 0 Rank 5]  failure detected by watchdog at work sequence id: 12 PG status: last enqueued work: 1",
            "peer",
            "symptom",
        ),
        ("Sending process 12 closing signal SIGTERM", "killed", "symptom"),
        ("Root Cause (first observed failure):", "unknown", "symptom"),
        ("[after training is done] datetime: 2024", "unknown", "milestone"),
    ],
)
def test_lines_of_known_makers(text, cause, role):
    found = recognize(text)
    assert found is not None
    assert (found.cause, found.role) == (cause, role)


@pytest.mark.parametrize(
    "text",
    [
        " [2024-11-26 05:17:17] iteration 5/ 10 | number of nan iterations:   0 |",
        "retrying data prefetch timeout=0",
        "NCCL INFO Connected all rings",
        "fail_on_error ................ False",
        "[Gloo] Rank 0 is connected to 7 peer ranks. Expected number of connected peer ranks is : 7",
    ],
)
def test_healthy_lines(text):
    assert recognize(text) is None


def test_the_causes_are_explained():
    text = (Path(__file__).parents[4] / "docs" / "logs.md").read_text()
    for cause, about in CAUSES.items():
        assert f"| {cause} | {about} |" in text


def test_the_library_is_sound():
    assert len({one.name for one in SIGNATURES}) == len(SIGNATURES)
    assert {one.cause for one in SIGNATURES} == set(CAUSES)
    assert is_severe("it failed")
    assert not is_severe("errors=0")
    with pytest.raises(ValueError, match="signature a: unknown cause 'b'"):
        load("name,cause,role,strength,pattern\na,b,root,1,x\n")
