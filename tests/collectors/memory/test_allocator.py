import gc
import subprocess
import sys

from collectors.memory.allocator import reduce_collections

PROGRAM = """
import resource, sys
import numpy as np
from collectors.memory.allocator import keep_freed

def faults(n, values):
    begin = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(n):
        np.ones(values)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - begin

if not keep_freed(largest=32 << 20):
    sys.exit(0)
faults(2, 1 << 20)
assert faults(20, 1 << 20) < 20 * 100, faults(20, 1 << 20)  # of 2048 pages each
keep_freed()
faults(2, 1 << 23)
assert faults(20, 1 << 23) < 20 * 100, faults(20, 1 << 23)  # of 16384 pages each
"""


def test_pages_are_used_again():
    subprocess.run([sys.executable, "-c", PROGRAM], check=True, timeout=120)


def test_python_looks_for_cycles_seldom():
    before = gc.get_threshold()
    try:
        reduce_collections(made=5_000, rounds=(7, 9))
        assert gc.get_threshold() == (5_000, 7, 9)
    finally:
        gc.set_threshold(*before)
