"""Play an incident live for `prism demo`: from a recording, or simulated at the start.

Two jobs train in the simulation. In the first, a pipeline, one rank computes 1.7 times as long for some steps from its twelfth
step on. Later a NIC of the second runs at a fraction of its rate. Records arrive in real time, as they would from switches.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from collectors.columns.record import Flows, Transits
from prism.live.live_analysis import Watch
from prism.recordings.file_analysis import read
from prism.recordings.live_replay import by_clock
from prism.recordings.timed_playback import moved, play, ticks
from prism.synth.scenario.specification import Cluster, Fault, Job, Spec
from prism.synth.simulation import simulate
from prism.topology import Topology, parse
from prism.tracking.board import Boards

CLUSTER = Cluster(hosts=16, spines=2, nic_gbit=0.3, uplink_gbit=1.2, latency_us=60, buffer_octets=1 << 19)
PIPELINE = Job(
    "A", pp=4, dp=2, transport="tcp", steps=60, micro=4, gradient_octets=2_000_000, activation_octets=130_000,
    forward_ms=50, backward_ms=100, world_reduce=True,
)  # fmt: skip
REPLICAS = Job(
    "B", dp=8, transport="tcp", steps=60, buckets=2, gradient_octets=8_000_000, forward_ms=250, backward_ms=500,
    first_host=8, begin_s=2.0,
)  # fmt: skip
FAULTS = (
    Fault("compute_slow", "A", ranks=(5,), first=12, stop=25, factor=1.7),
    Fault("nic_throttle", "B", ranks=(3,), first=30, stop=45, factor=3.75),
)
INCIDENT = Spec("demo", CLUSTER, (PIPELINE, REPLICAS), FAULTS)


class Incident(NamedTuple):
    """Records, transits and topology to play."""

    flows: Flows
    transits: Transits
    topology: Topology | None


def incident(spec: Spec = INCIDENT, seed: int = 0, *, begin_ns: int) -> Incident:
    """Simulate the incident as if it began at a time; deterministic for a seed."""
    made = simulate(spec, seed)
    flows, transits = moved(made.flows, made.transits, begin_ns - int(made.flows.start_ns.min()))
    return Incident(flows, transits, parse(json.dumps(made.topology), "topology.json"))


def recorded(inputs: Sequence[tuple[str, str]], topology: Topology | None = None, *, begin_ns: int) -> Incident:
    """Read an incident from captures or dumps, (switch, path) each, as if it began at a time. Raises ValueError and OSError."""
    flows, transits, _ = read(inputs, topology, lambda *_: None)
    if not len(flows):
        raise ValueError(f"{inputs[0][1]}: contains no traffic to play")
    return Incident(*moved(flows, transits, begin_ns - int(flows.start_ns.min())), topology)


@contextmanager
def playing(incident: Incident, boards: Boards, *, speed: float = 1.0) -> Iterator[threading.Event]:
    """Play an incident in a thread within the context, `speed` times as fast as recorded (0: as fast as possible).

    Boards are published as windows end. The event is set when all records were played.
    """
    stop, finished = threading.Event(), threading.Event()

    def pause(seconds: float) -> None:
        stop.wait(seconds)

    def run() -> None:
        wait = by_clock(speed, sleep=pause)
        watch = Watch(incident.topology, boards=boards)
        for _ in play(watch, ticks(incident.flows, incident.transits), wait=lambda now: wait(now) and not stop.is_set()):
            pass
        finished.set()

    thread = threading.Thread(target=run, name="prism-demo")
    thread.start()
    try:
        yield finished
    finally:
        stop.set()
        thread.join()
