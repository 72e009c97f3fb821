import os
import subprocess
import sys

import pytest

from benchmarks import idle
from benchmarks.idle import Spent

BUSY = "import subprocess, sys, time\nfor _ in range(3 * 10**6): pass\n"


def stat(proc, pid, parent, name, *ticks):
    (proc / str(pid)).mkdir()
    (proc / str(pid) / "stat").write_text(f"{pid} ({name}) S {parent} 1 1 0 -1 0 0 0 0 0 {' '.join(map(str, ticks))} 20 0 1 0")


def test_all_below_a_process_counts_and_nothing_beside_it(tmp_path):
    stat(tmp_path, 10, 1, "prism", 100, 50, 10, 0)
    stat(tmp_path, 11, 10, "wor) ker (", 200, 0, 0, 0)
    stat(tmp_path, 12, 11, "deep", 0, 5, 0, 5)
    stat(tmp_path, 13, 1, "else", 9999, 9999, 0, 0)
    (tmp_path / "14").mkdir()
    assert idle.spent(10, tmp_path) == Spent(310 / idle.TICK, 60 / idle.TICK, 3)


def test_a_real_process_that_works_is_seen_to():
    before = idle.spent(os.getpid())
    subprocess.run([sys.executable, "-c", BUSY], check=True)
    after = idle.spent(os.getpid())
    assert after.user + after.system > before.user + before.system


def test_the_table_says_what_a_service_spends(monkeypatch, tmp_path):
    asked = []

    def measured(arguments, *_):
        asked.append(list(arguments))
        return Spent(0.006, 0.003, 2)

    monkeypatch.setattr(idle, "idled", measured)
    told = list(idle.lines(60.0, 15.0, tmp_path))
    assert told[1].split()[-4:] == ["0.60", "0.30", "0.90", "2"]
    assert [words[:1] for words in asked] == [[], ["--listen"]]


def test_a_service_that_ends_is_reported(tmp_path):
    with pytest.raises(RuntimeError, match="ended with 2"), idle.serving(["--nothing"], tmp_path):
        pass
