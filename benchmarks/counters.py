"""Score jobs from port counters on simulated fabrics: python -m benchmarks.counters [--ports N] [--seconds S] [--seeds N].

Each fabric has jobs of random sizes, periods, jitter, stages and pauses, ports without a job, pollers whose clocks differ, lost
samples, and in some jobs a port that moves more or less than its peers or a change of pace.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.csv

from prism.counters.counter_files import read
from prism.counters.counter_rates import rates
from prism.counters.port_jobs import PortJob, port_jobs

PORTS_OF_A_SWITCH = 32


@dataclass
class Truth:
    """Ports of each job, its period, its odd port and the time of its change, if any."""

    jobs: list[set[tuple[str, str]]] = field(default_factory=list)
    periods: list[float] = field(default_factory=list)
    odd: list[tuple[str, str] | None] = field(default_factory=list)
    change: list[float | None] = field(default_factory=list)


def fabric(rng: np.random.Generator, ports: int, seconds: int, poll: float = 1.0) -> tuple[pa.Table, Truth]:
    """Make a table of counters and the truth."""
    names = [(f"leaf{i // PORTS_OF_A_SWITCH}", f"Ethernet{i % PORTS_OF_A_SWITCH}") for i in range(ports)]
    fine = 0.1
    bins = int(seconds / fine)
    octets = rng.exponential(2e4, (ports, bins)).astype(np.float32)
    truth = Truth()
    order = rng.permutation(ports // 8)
    at = 0
    while at < len(order) * 0.85:
        size = int(min(rng.choice([1, 2, 4, 8, 16, 32]), len(order) - at))
        own = np.concatenate([np.arange(block * 8, block * 8 + 8) for block in order[at : at + size]])
        at += size
        _train(rng, octets, own, fine, truth, names)
    lag = rng.uniform(-3, 3, -(-ports // PORTS_OF_A_SWITCH))
    samples = int(seconds / poll)
    columns: dict[str, list[object]] = {"time": [], "switch": [], "port": [], "in_octets": [], "out_octets": []}
    total = np.cumsum(octets, axis=1, dtype=np.float64)
    for i, (switch, port) in enumerate(names):
        real = np.arange(samples) * poll + rng.uniform(0, 0.2) + rng.normal(0, 0.01, samples)
        kept = rng.random(samples) > 0.003
        value = np.interp(real[kept], np.arange(1, bins + 1) * fine, total[i]) / 2
        columns["time"].append(1.79e9 + real[kept] + lag[i // PORTS_OF_A_SWITCH])
        columns["switch"].append([switch] * int(kept.sum()))
        columns["port"].append([port] * int(kept.sum()))
        columns["in_octets"].append(value.astype(np.int64))
        columns["out_octets"].append(value.astype(np.int64))
    return pa.table({name: pa.concat_arrays([pa.array(one) for one in column]) for name, column in columns.items()}), truth


def servers_of(ports: int) -> dict[tuple[str, str], str]:
    """Map eight ports to each server."""
    return {(f"leaf{i // PORTS_OF_A_SWITCH}", f"Ethernet{i % PORTS_OF_A_SWITCH}"): f"server{i // 8}" for i in range(ports)}


def _train(
    rng: np.random.Generator,
    octets: np.ndarray[tuple[int, int], np.dtype[np.float32]],
    own: np.ndarray[tuple[int], np.dtype[np.int64]],
    fine: float,
    truth: Truth,
    names: Sequence[tuple[str, str]],
) -> None:
    seconds = octets.shape[1] * fine
    period, jitter, duty = rng.uniform(3, 25), rng.uniform(0.005, 0.04), rng.uniform(0.15, 0.5)
    stages = int(rng.choice([1, 1, 2, 4])) if len(own) >= 16 else 1
    change = rng.uniform(0.3, 0.7) * seconds if rng.random() < 0.3 else None
    slower = rng.uniform(1.1, 1.6)
    odd = int(rng.integers(len(own))) if rng.random() < 0.3 else None
    odd_by = rng.choice([0.8, 1.25])
    at, volume, pause = 0.0, rng.uniform(2e8, 4e9), int(rng.integers(40, 200))
    step = 0
    while at < seconds:
        long = period * np.exp(rng.normal(0, jitter)) * (slower if change is not None and at > change else 1.0)
        for stage in range(stages):
            low = at + (1 - duty) * long - 0.2 * duty * long * stage
            cut = slice(max(int(low / fine), 0), max(int((low + duty * long * 0.8) / fine), 0) + 1)
            ports = own[stage::stages]
            width = max(cut.stop - cut.start, 1)
            part = np.full(len(ports), volume / width)
            if odd is not None and own[odd] in ports:
                part[np.flatnonzero(ports == own[odd])] *= odd_by
            octets[ports, cut] += part[:, None].astype(np.float32)
        step += 1
        at += long + (rng.uniform(5, 20) if step % pause == 0 else 0)
    truth.jobs.append({names[i] for i in own.tolist()})
    truth.periods.append(period)
    truth.odd.append(names[int(own[odd])] if odd is not None else None)
    truth.change.append(change)


def score(found: Sequence[PortJob], truth: Truth) -> dict[str, float]:
    """Compute shares: complete jobs (Jaccard ≥ 0.9), right claims, periods within 1 %, odd ports and changes."""
    whole = period = odd = odd_said = changed = 0
    for ports, right, strange, change in zip(truth.jobs, truth.periods, truth.odd, truth.change, strict=True):
        best = max(found, key=lambda one: _jaccard(ports, set(one.ports)), default=None)
        if best is None or _jaccard(ports, set(best.ports)) < 0.9:
            continue
        whole += 1
        period += change is not None or abs(best.period_s / right - 1) < 0.02
        odd += strange is not None and strange in {one.port for one in best.odd}
        changed += change is not None and any(abs(one.time_ns / 1e9 - 1.79e9 - change) < 400 for one in best.changes)
    odd_said = sum(len(one.odd) for one in found)
    right = sum(any(_jaccard(ports, set(one.ports)) >= 0.9 for ports in truth.jobs) for one in found)
    return {
        "jobs": len(truth.jobs),
        "whole": whole,
        "claims": len(found),
        "right": right,
        "periods": period,
        "odd": sum(one is not None for one in truth.odd),
        "odd_found": odd,
        "odd_said": odd_said,
        "changes": sum(one is not None for one in truth.change),
        "changes_found": changed,
        "nics_agree": sum(one.servers.share == 1 for one in found),
    }


def _jaccard(one: set[tuple[str, str]], other: set[tuple[str, str]]) -> float:
    return len(one & other) / max(len(one | other), 1)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ports", type=int, default=512)
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--poll", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args(arguments)
    total: dict[str, float] = {}
    for seed in range(given.first, given.first + given.seeds):
        table, truth = fabric(np.random.default_rng(seed), given.ports, given.seconds, given.poll)
        with tempfile.NamedTemporaryFile(suffix=".csv") as file:
            pa.csv.write_csv(table, file.name)
            began = time.process_time()
            samples = read([file.name])
            mid = time.process_time()
            found = port_jobs(rates(samples), servers_of(given.ports))
            spent = time.process_time() - began
        one = score(found, truth)
        print(f"seed {seed}: {one} read {mid - began:.1f} s, all {spent:.1f} s", flush=True)
        total = {name: total.get(name, 0) + value for name, value in one.items()}
    print("all", total)
    return 0


if __name__ == "__main__":
    sys.exit(main())
