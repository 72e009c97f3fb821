import os
import signal

import pytest

from collectors.exports.admission import parse_networks
from collectors.live import session
from collectors.operations import logs
from collectors.operations.metrics import Count
from collectors.writers.rotating_files import Rotating
from collectors.writers.sinks import JsonLines
from tests.collectors.builders.toys import until


def test_signals_are_events_while_the_context_lasts():
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)]
    with session.signals() as asked:
        os.kill(os.getpid(), signal.SIGHUP)
        until(asked.reload.is_set)
        assert not asked.stop.is_set()
        os.kill(os.getpid(), signal.SIGTERM)
        until(asked.stop.is_set)
    assert [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)] == before


def test_where_records_go(tmp_path):
    assert isinstance(session.sink_to("-", rows=1, seconds=1), JsonLines)
    assert isinstance(session.sink_to(str(tmp_path), rows=1, seconds=1), Rotating)
    with pytest.raises(ValueError, match="the folder does not exist"):
        session.sink_to(str(tmp_path / "no"), rows=1, seconds=1)


def test_lists_of_networks(tmp_path):
    (tmp_path / "allow").write_text("192.0.2.0/24\n")
    assert session.allow_list(None, None) is None
    assert session.allow_list([], None) == ()
    assert session.allow_list(["10.0.0.0/8"], str(tmp_path / "allow")) == parse_networks(["10.0.0.0/8", "192.0.2.0/24"])
    (tmp_path / "allow").write_text("")
    assert session.allow_list(None, str(tmp_path / "allow")) == ()


def test_the_last_line_is_said_whatever_happens(capsys):
    logs.start()

    def fail():
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        session.run(fail, lambda: iter([Count("prism_collect_records", "x", {(): 5})]), metrics=None)
    assert capsys.readouterr().err.endswith("event=stopped records=5\n")
