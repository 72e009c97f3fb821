"""Captures of the repository as they are played, for the tests of the live analysis."""

import json
from functools import cache
from pathlib import Path

from prism.live.live_analysis import Watch
from prism.recordings.file_analysis import read
from prism.recordings.timed_playback import play, ticks
from prism.topology import parse
from prism.tracking.record_windows import SECOND

PLAYED_S = {"slow_rank": 18, "slow_uplink": 15}
PCAPS = Path(__file__).parents[2] / "pcaps"


@cache
def capture(name):
    folder = PCAPS / name
    inputs = [(path.name.split(".")[0], str(path)) for path in sorted(folder.glob("*.pcap.gz"))]
    topology = parse((folder / "topology.json").read_text(), "topology")
    flows, transits, _ = read(inputs, topology, lambda *_: None)
    return flows, transits, topology, json.loads((folder / "truth.json").read_text())


@cache
def boards(name):
    """Of a capture, up to some seconds after the fault was told: the later ones cost most."""
    flows, transits, topology, _ = capture(name)
    until = int(flows.start_ns.min()) + PLAYED_S.get(name, 60) * SECOND
    return tuple(play(Watch(topology), ticks(flows.take(flows.end_ns < until), transits)))
