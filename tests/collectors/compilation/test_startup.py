import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
CODE = """
import sys
from collectors.compilation import compiled, warming
from collectors.compilation.startup import begin
if __name__ == "__main__":
    warming.Warming.start = lambda _: print("warming", file=sys.stderr)
    if "large" in sys.argv or "later" in sys.argv:
        compiled.MANY = 0
    import numpy as np
    from collectors.columns.grouping import grouped
    some = np.zeros(3, np.int64)
    with begin("prism-collect", quiet="quiet" in sys.argv):
        if "later" not in sys.argv:
            grouped(some, 1)
            grouped(some, 1)
    if "later" in sys.argv:
        grouped(some, 1)
"""


def told(tmp_path, *arguments):
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", CODE, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stderr.splitlines()


def test_what_is_interpreted_is_told_once_and_compiled_beside(tmp_path):
    line = "prism-collect: the analysis is not compiled for this processor yet, so this run is slower; run once: "
    assert told(tmp_path) == [line + "prism-collect warm", "warming"]
    assert told(tmp_path, "quiet") == ["warming"]


def test_what_is_compiled_here_is_reported_with_its_time_and_what_is_loaded_is_not(tmp_path):
    first, last = told(tmp_path, "large")
    assert first.startswith("prism-collect: compiling the analysis for this large input, once per installation")
    assert last.startswith("prism-collect: compiled ")
    assert last.endswith(" s")
    assert told(tmp_path) == []


def test_what_a_process_compiles_after_its_command_is_not_reported(tmp_path):
    assert told(tmp_path, "later") == []
