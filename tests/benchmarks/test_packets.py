from pathlib import Path

from benchmarks import packets

CAPTURE = Path(__file__).parents[2] / "pcaps" / "two_jobs" / "spine0.pcap.gz"


def test_every_stage_is_measured_on_the_same_packets(capsys):
    assert packets.main([str(CAPTURE)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["gzip", "read", "decode", "flows"]
    assert all("packets/s" in line for line in lines[1:])


def test_without_files(capsys):
    assert packets.main([]) == 2
    assert "usage" in capsys.readouterr().err
