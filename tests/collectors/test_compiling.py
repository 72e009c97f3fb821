import subprocess
import sys

CODE = """
from collectors.compiling import announce
announce("prism-collect")
from collectors.batch import Batch
from collectors.fastpath import Decoder
Decoder().decode(Batch.of([(0, b"", 0)]))
"""


def test_compiling_is_told_once_and_loading_is_not(tmp_path):
    told = "prism-collect: compiling for this processor, once; some seconds\n"
    environment = {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": ":".join(sys.path)}
    for expected in (told, ""):
        command = [sys.executable, "-c", CODE]
        assert subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stderr == expected
