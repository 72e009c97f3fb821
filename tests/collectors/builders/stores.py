"""Flow records for the store, each with a number of its own, and what is in it afterwards."""

from contextlib import contextmanager

import numpy as np

from collectors.clickhouse.drivers import opened
from collectors.columns.record import Flows
from tests.collectors.builders import servers

ENDPOINTS = (*(f"10.0.{i // 250}.{i % 250}" for i in range(600)), "fe80::1", "2001:db8::ffff:0:1")
EXPORTERS = ("leaf0", "leaf1", "spine ü")
PATHS = ((), ("leaf0", "spine ü"), ("leaf1",))


@contextmanager
def kept(form, folder):
    """A database of its own in a folder: the embedded engine, or a server."""
    if form == "embedded":
        found = opened(str(folder))
        yield found
        found.close()
        return
    with servers.running(folder) as server:
        found = opened(server.url)
        yield found
        found.close()


def flows(count, *, now_ns, first=0, span_ns=10**9, seed=0):
    """Records that started in the last `span_ns`; their numbers, from `first` on, are in `busy_ns`."""
    rng = np.random.default_rng(seed)
    start = np.sort(now_ns - rng.integers(0, span_ns, count))
    return Flows.build(
        {
            "start_ns": start,
            "end_ns": start + rng.integers(0, 10**6, count),
            "src": rng.integers(0, len(ENDPOINTS), count),
            "dst": rng.integers(0, len(ENDPOINTS), count),
            "dst_port": np.full(count, 4791),
            "protocol": np.full(count, 17),
            "dst_qp": rng.integers(0, 1 << 24, count),
            "octets": rng.integers(0, 1 << 40, count),
            "packets": rng.integers(0, 1 << 30, count),
            "messages": np.ones(count),
            "busy_ns": first + np.arange(count),
            "exporter": rng.integers(0, len(EXPORTERS), count),
            "path": rng.integers(0, len(PATHS), count),
        },
        endpoints=ENDPOINTS,
        exporters=EXPORTERS,
        paths=PATHS,
    )


def meant(flows):
    """The records as a set of rows of what they say, whatever the codes."""
    names = ("start_ns", "end_ns", "octets", "packets", "dst_qp", "busy_ns", "sampling_rate", "protocol", "tcp_flags")
    numbers = (getattr(flows, name).tolist() for name in names)
    texts = (
        [flows.endpoints[c] for c in flows.src],
        [flows.endpoints[c] for c in flows.dst],
        [flows.exporters[c] for c in flows.exporter],
        [flows.paths[c] for c in flows.path],
    )
    return sorted(zip(*numbers, *texts, strict=True))


def pairs(flows):
    """Octets and records by pair, the slow way."""
    found = {}
    for src, dst, octets in zip(flows.src.tolist(), flows.dst.tolist(), flows.octets.tolist(), strict=True):
        key = flows.endpoints[src], flows.endpoints[dst]
        o, n = found.get(key, (0, 0))
        found[key] = o + octets, n + 1
    return found


def fill(path):
    """Write until its disk is full."""
    with open(path, "wb", buffering=0) as file:
        try:
            while file.write(bytes(1 << 12)):
                pass
        except OSError:
            pass
