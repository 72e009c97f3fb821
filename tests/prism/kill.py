"""The service killed at random moments while a switch exports to it; every record is counted afterwards.

    python -m tests.prism.kill [--times 30] [--seed 0]

Before each kill it says how many records are in the store or in its spool. None of those may be missing afterwards, none may be
there twice, and sums by pair are of the same records. Every other kill waits until a batch is on its way from the spool into
the store, which takes a few hundredths of each second.
"""

import argparse
import json
import random
import re
import signal
import sys
import tempfile
import time
import urllib.request
from dataclasses import replace
from pathlib import Path

import numpy as np

from collectors.clickhouse.drivers import opened
from prism.app.demo import CLUSTER, PIPELINE
from prism.synth.scenario.specification import Spec
from prism.synth.simulation import simulate
from tests.collectors.builders.toys import Child, until
from tests.prism.exporting import Datagrams, exporting

PRISM = (sys.executable, "-c", "from prism.cli.main import main; main()")
RUN = Spec("killed", replace(CLUSTER, hosts=8), (replace(PIPELINE, steps=60),), ())
SHOWN = r'^prism_collect_sink_(?:records_total\{fate="kept"|waiting\{where="spooled")\} (\S+)$'


class Service(Child):
    """`prism serve` with a folder, on any free ports."""

    def __init__(self, data):
        words = ["--data", data, "--listen", "ipfix://127.0.0.1:0", "--http", "0", "--json"]
        super().__init__("serve", *map(str, words), command=PRISM)
        self.port = int(self.expect(r"event=listening kind=ipfix .*port=(\d+)")[1])
        self.url = self.expect(r"event=pages url=(\S+)")[1]

    def kept(self):
        """Records that this life put into the store, and those in the spool."""
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=60) as answer:
            return sum(map(float, re.findall(SHOWN, answer.read().decode(), re.MULTILINE)))


def batches(data):
    """The batches in the spool, and how many records each has, as the names of its files say."""
    return {path.name: int(path.name.split(".")[0].rpartition("-")[2]) for path in (data / "spool").glob("*.rows")}


def spooled(data):
    """Records in the spool."""
    return sum(batches(data).values())


def coming(data, rng, *, most_s=0.03, patience_s=3.0):
    """Wait for a new batch in the spool, and a moment more; how many records are new there."""
    known, ends = batches(data), time.monotonic() + patience_s
    while not (new := dict(batches(data).items() - known.items())) and time.monotonic() < ends:
        time.sleep(0.001)
    time.sleep(rng.uniform(0, most_s))
    return sum(new.values())


def life(data, made, rng, most_s, *, amid):
    """Start the service, kill it some time after records are kept; how many it kept that were not in the spool before."""
    before = spooled(data)
    with Service(data) as service:
        made.port = service.port
        with exporting(made):
            until(lambda: service.kept() > before)
            time.sleep(rng.uniform(0, most_s))
            safe = service.kept()
            safe += coming(data, rng) if amid else 0
            service.end(signal.SIGKILL)
    return safe - before


def kill_services(data, times, *, seed=0, most_s=1.5):
    """Kill the service so many times; records found, and how many were sure to be."""
    rng, flows = random.Random(seed), simulate(RUN, 1).flows
    rows = np.stack([flows.start_ns, flows.end_ns, flows.src, flows.dst, flows.octets, flows.src_port], axis=1)
    made = Datagrams(flows.take(np.sort(np.unique(rows, axis=0, return_index=True)[1])), 0)
    safe = sum(life(data, made, rng, most_s, amid=i % 2 == 1) for i in range(times))
    with Service(data) as service:
        until(lambda: not spooled(data))
        assert service.end() == 0
        assert "Traceback" not in "\n".join(service.said)
    database = opened(str(data / "store"))
    columns = "start_ns, end_ns, src_low, dst_low, src_port, dst_port, octets"
    found = database.query(f"SELECT count() AS n, uniqExact({columns}) AS one FROM flows")
    rolled = database.query("SELECT sum(records) AS n FROM flow_pairs")
    database.close()
    count = int(found["n"][0])
    assert count == int(found["one"][0]), "a record is there twice"
    assert count == int(rolled["n"][0]), "sums by pair are of other records"
    assert count >= safe, f"{safe - count} of {safe} records are lost"
    return count, int(safe)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    asked, began = parser.parse_args(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        found = kill_services(Path(folder) / "data", asked.times, seed=asked.seed)
    took = time.monotonic() - began
    print(json.dumps({"kills": asked.times, "records": found[0], "at least": found[1], "seconds": round(took)}))


if __name__ == "__main__":
    main()
