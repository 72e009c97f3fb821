import numpy as np
import pytest

from benchmarks import ingest


def test_a_job_is_exported_as_time_passes():
    rows, due = ingest.job_rows(2.0)
    assert len(rows) == len(due)
    assert (due[1:] >= due[:-1]).all()
    assert int(due[-1]) >= 2 * 10**9
    assert (rows["end_ms"] >= rows["start_ms"]).all()


def test_nothing_of_a_stream_is_lost_while_windows_are_analysed(capsys):
    pytest.importorskip("chdb")
    assert ingest.main(["--rate", "2000", "--seconds", "3"]) == 0
    sent, windows, *_ = capsys.readouterr().out.splitlines()
    assert "lost in the kernel 0" in sent
    assert int(windows.split()[0]) >= 1


def test_delays_are_distinguished_by_what_went_on():
    probe = ingest.Probe([100], [200], [50, 150, 250], [np.array([n * 10**6]) for n in (1, 2, 3)])
    busy, idle = probe.split()
    assert busy.tolist() == [2.0]
    assert idle.tolist() == [1.0, 3.0]
