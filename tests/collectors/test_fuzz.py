import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.collectors.builders.fuzz import TARGETS, attempt


@pytest.mark.parametrize("name", TARGETS)
@settings(max_examples=40)
@given(seed=st.integers(0, 2**40))
def test_nothing_but_a_decode_error_escapes(name, seed):
    attempt(name, seed)


def test_the_long_run_runs():
    command = [sys.executable, "-m", "tests.collectors.builders.fuzz", "--minutes", "0", "--seed", "1"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, f"{len(TARGETS)} tries, 0 failed\n"), done.stderr
