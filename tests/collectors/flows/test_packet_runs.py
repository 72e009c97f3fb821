"""Test that runs occur; other tests show that they equal packets one by one."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from benchmarks.mirror import Mirror, Mix
from collectors.aggregation.batch_decoder import Decoder
from collectors.aggregation.flow_table import FlowTable
from collectors.cli.commands import app
from collectors.flows.flow_state import ANSWERS, FLOWS, LANE, REQUESTS
from collectors.packets.frame_batch import Batch
from collectors.packets.packet_signs import NOTHING


def fed(how, packets=4000):
    """A table that has seen packets, whose records are not yet complete."""
    mirror, decoder = Mirror(2, Mix(queue_pairs=8, connections=2, active=8, tcp=0.5)), Decoder()
    mirror.length[:] = 1024
    time_ns, octets, captured, wire = mirror.some(packets)
    rows = zip(time_ns.tolist(), octets, captured.tolist(), wire.tolist(), strict=True)
    table = FlowTable(exporters=["s"], addresses=decoder.endpoints)
    table.add("s", getattr(decoder, how)(Batch.of((t, row[:n].tobytes(), w) for t, row, n, w in rows)))
    return table


@pytest.mark.parametrize("kinds", [(LANE,), (REQUESTS, ANSWERS)])
def test_busy_flows_are_in_a_run(kinds):
    flows = (table := fed("later")).table.flows[: table.table.counters[FLOWS]]
    busy = flows[np.isin(flows["kind"], kinds)]
    running = busy["expects"] != NOTHING
    assert running.sum() > len(busy) / 3
    assert (busy["ready"][running] >= busy["high"][running]).all()


def test_rows_make_no_runs():
    flows = (table := fed("decode")).table.flows[: table.table.counters[FLOWS]]
    assert (flows["expects"] == NOTHING).all()


def test_records_are_complete_when_they_are_requested():
    (one, _, tally), (other, _, counts) = fed("later").finish(), fed("decode").finish()
    assert one.octets.tolist() == other.octets.tolist()
    assert one.packets.tolist() == other.packets.tolist()
    assert one.end_ns.tolist() == other.end_ns.tolist()
    assert tally == counts


INTERPRETED = """
import sys
from collectors.compilation import warming
from collectors.cli.commands import app
warming.Warming.start = lambda _: None
app(sys.argv[1:], standalone_mode=False)
"""


def test_a_long_run_is_the_same_interpreted_and_compiled(tmp_path):
    """Eight IP identifications fill two numbers of 64 bits: their shifts wrap in plain Python as in compiled code."""
    root = Path(__file__).parents[3]
    capture = root / "pcaps" / "slow_uplink" / "spine0.pcap.gz"
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "empty"), "PYTHONPATH": str(root)}
    words = ["flows", str(capture), "-o", str(tmp_path / "interpreted.csv")]
    subprocess.run([sys.executable, "-c", INTERPRETED, *words], env=environment, check=True, capture_output=True)
    assert CliRunner().invoke(app, ["flows", str(capture), "-o", str(tmp_path / "compiled.csv")]).exit_code == 0
    assert (tmp_path / "interpreted.csv").read_text() == (tmp_path / "compiled.csv").read_text()
