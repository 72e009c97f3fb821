"""Packets written by hand: dictionaries, and arrays from them."""

import numpy as np

from collectors.columns.record import ACK, COLUMNS, PSH, ROCE_PORT, TCP, UDP, Packets

DTYPES = {
    "time_ns": np.int64, "src": np.int32, "dst": np.int32, "src_port": np.uint16, "dst_port": np.uint16, "protocol": np.uint8,
    "octets": np.int64, "ip_id": np.uint32, "ecn": np.bool_, "sequence": np.uint32, "acknowledgment": np.uint32,
    "tcp_flags": np.uint8, "opcode": np.int16, "dst_qp": np.uint32, "dma_length": np.int64, "syndrome": np.int16,
    "job_id": np.uint32,
}  # fmt: skip
BLANK = dict.fromkeys(DTYPES, 0) | {"opcode": -1, "dma_length": -1, "syndrome": -1}
ADDRESSES = tuple(f"10.0.0.{i}" for i in range(8))


def tcp(time_ns, octets, sequence=0, *, src=0, dst=1, flags=ACK | PSH, **more):
    ports = {"src_port": 1000 + src, "dst_port": 1000 + dst, "protocol": TCP}
    return (
        BLANK
        | ports
        | {"time_ns": time_ns, "octets": octets, "sequence": sequence % 2**32, "src": src, "dst": dst, "tcp_flags": flags}
        | more
    )


def roce(time_ns, opcode, psn, octets=4096, *, src=0, dst=1, qp=7, dma_length=-1, **more):
    ports = {
        "src_port": 50000,
        "dst_port": ROCE_PORT,
        "protocol": UDP,
        "dst_qp": qp,
        "opcode": opcode,
        "dma_length": dma_length,
    }
    return BLANK | ports | {"time_ns": time_ns, "octets": octets, "sequence": psn % 2**24, "src": src, "dst": dst} | more


def packets(rows):
    return Packets(**{name: np.array([row[name] for row in rows], dtype) for name, dtype in DTYPES.items()})


def rows_of(flows):
    """Records as tuples of texts and numbers, so that flows with other dictionaries can be compared."""
    texts = {
        "src": lambda i: flows.endpoints[i],
        "dst": lambda i: flows.endpoints[i],
        "exporter": lambda i: flows.exporters[i] if flows.exporters else "",
        "path": lambda i: flows.paths[i],
    }
    columns = []
    for c in COLUMNS:
        values = getattr(flows, c.name).tolist()
        columns.append([texts[c.name](v) for v in values] if c.name in texts else values)
    return sorted(zip(*columns, strict=True))
