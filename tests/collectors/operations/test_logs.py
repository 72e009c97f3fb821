import logging
import re

from collectors.operations import logs


def test_one_line_per_event(capsys):
    logs.start()
    logs.log_event("file written", path="/tmp/a b", records=5, empty="", odd='say "x"\n', name="leaf0")
    logs.log_event("small", level=logging.WARNING)
    first, second = capsys.readouterr().err.splitlines()
    assert re.match(r"time=\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z level=INFO event=", first)
    assert first.endswith(r'event="file written" path="/tmp/a b" records=5 empty="" odd="say \"x\"\n" name=leaf0')
    assert second.endswith("level=WARNING event=small")
