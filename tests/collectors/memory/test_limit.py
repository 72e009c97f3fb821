import errno
import resource
import subprocess
import sys

import pytest

from collectors.memory.limit import TooMuchError, is_memory_error, memory_limit, without_limit

TAKE = """
import resource, sys
import numpy as np
from collectors.memory.limit import TooMuchError, memory_limit, without_limit

before = resource.getrlimit(resource.RLIMIT_DATA)
try:
    with memory_limit(64, ["a.pcap"]):
        with without_limit(64):
            kept = np.ones(100 << 17)  # 100 MiB that the files are not to blame for
        fits = np.ones(30 << 17)
        np.ones(200 << 17)
except TooMuchError as error:
    print(error)
assert resource.getrlimit(resource.RLIMIT_DATA) == before
np.ones(200 << 17)
"""


def test_what_is_too_much_names_file_limit_and_setting_and_the_limit_ends():
    done = subprocess.run([sys.executable, "-c", TAKE], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "a.pcap: needs more memory than the limit of 64 MiB; --memory sets it\n"


@pytest.mark.parametrize("error", [MemoryError(), OSError(errno.ENOMEM, "no"), RuntimeError("can't start new thread")])
def test_other_ways_of_saying_it(error):
    before = resource.getrlimit(resource.RLIMIT_DATA)
    assert is_memory_error(error)
    told = r"a, b, c and 2 more: need .* 4096 MiB; --upload-memory sets it"
    with pytest.raises(TooMuchError, match=told), memory_limit(4096, list("abcde"), setting="--upload-memory"):
        raise error
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


@pytest.mark.parametrize("error", [OSError(errno.ENOENT, "no"), RuntimeError("other")])
def test_other_errors_stay_as_they_are(error):
    with pytest.raises(type(error)) as caught, memory_limit(4096):
        raise error
    assert caught.value is error


def test_nothing_is_bounded_where_nothing_was():
    before = resource.getrlimit(resource.RLIMIT_DATA)
    with without_limit(64):
        pass
    assert resource.getrlimit(resource.RLIMIT_DATA) == before
