"""A few of the kills of `python -m tests.prism.kill`, which see."""

import pytest

from tests.prism import kill


def test_the_service_is_killed(tmp_path):
    pytest.importorskip("chdb")
    found, safe = kill.kill_services(tmp_path / "data", 3)
    assert found >= safe > 0
