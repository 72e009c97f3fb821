from pathlib import Path

import pytest

from benchmarks import packets
from benchmarks.mirror import Mirror


def test_every_tool_that_is_there_reads_the_same_capture(tmp_path: Path) -> None:
    runs, missing = packets.compare(tmp_path, 2000, 1, 1)
    assert not missing or set(runs) | set(missing) == {*packets.STAGES, *(tool.name for tool in packets.TOOLS)}
    assert runs["ours"].packets == runs["ours, decoding only"].packets == 2000
    assert runs["ours"].start > 0
    lines = packets.table(runs, [*missing, "nothing"])
    assert lines[-1] == "nothing: not installed"
    assert sum("packets/s" in line for line in lines) == 1


def test_a_share_of_a_capture_is_whole_packets(tmp_path: Path) -> None:
    Mirror().write(tmp_path / "a.pcap", 300)
    assert packets.read_rows(packets.shortened(tmp_path / "a.pcap", 100)) == 100


def test_a_command_that_fails_is_reported() -> None:
    with pytest.raises(RuntimeError, match="false"):
        packets.measured(("false",), 1)
