import io
import json
import signal
import sys
import time

import numpy as np

from collectors.columns.record import COLUMNS, Flows
from collectors.operations.metrics import flat
from collectors.writers.sinks import JsonLines, NullSink
from tests.collectors.builders.toys import Child

FLOWS = Flows.build(
    {"start_ns": [5, 7], "end_ns": [6, 9], "src": [0, 1], "dst": [1, 0], "octets": [100, 200], "path": [1, 0]},
    endpoints=("10.0.0.1", "fd00::1"),
    exporters=("leaf0",),
    paths=((), ("leaf0", "spine0")),
)
NONE = FLOWS.take(np.zeros(0, np.int64))


def test_json_lines():
    file = io.BytesIO()
    sink = JsonLines(file)
    for part in (FLOWS, NONE, FLOWS):
        sink.write(part)
    sink.tick(0)
    sink.close()
    rows = [json.loads(line) for line in file.getvalue().decode().splitlines()]
    assert len(rows) == 4
    assert set(rows[0]) == {c.name for c in COLUMNS}
    assert (rows[0]["src"], rows[1]["src"], rows[0]["path"], rows[1]["octets"]) == ("10.0.0.1", "fd00::1", "leaf0|spine0", 200)
    assert flat(sink.counts()) == {"sink_records_kept": 4}


class Slow(io.BytesIO):
    """Takes a few octets at a time, as a pipe does when a signal interrupts."""

    def write(self, octets):
        return super().write(octets[:100])


def test_what_is_written_in_parts_is_whole():
    file = Slow()
    JsonLines(file).write(FLOWS)
    assert [json.loads(line)["octets"] for line in file.getvalue().splitlines()] == [100, 200]


def test_signals_lose_nothing():
    code = """
import time
import numpy as np
from collectors.live.session import signals
from collectors.columns.record import Flows
from collectors.writers.sinks import JsonLines
each = np.arange(20_000)
columns = {name: each for name in ("start_ns", "end_ns", "octets")} | {"src": each * 0, "dst": each * 0}
with signals() as asked:
    JsonLines().write(Flows.build(columns, endpoints=("10.0.0.1",)))
    while not asked.reload.is_set():
        time.sleep(0.01)  # CPython sees a signal that a thread of the numerical library took only after a blocking call
"""
    with Child(command=(sys.executable, "-c", code)) as child:
        while child.wrote.count(b"\n") < 20_000:
            if child.wrote:
                child.process.send_signal(signal.SIGTERM)
            time.sleep(0.001)  # faster than a handler returns, they would pile up
            assert child.process.poll() is None
        assert child.end(signal.SIGHUP) == 0
        assert [json.loads(line)["octets"] for line in child.wrote.splitlines()] == list(range(20_000))


def test_nowhere_counts():
    sink = NullSink()
    sink.write(FLOWS)
    sink.tick(0)
    sink.close()
    assert list(flat(sink.counts()).values()) == [2]
