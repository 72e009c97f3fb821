"""Read Prometheus metrics of other tools beside traffic: DCGM exporter, xpu_timer, NCCL Inspector, node exporter.

Format: Prometheus text exposition 0.0.4. Reports fault counters that are not 0, and gauges whose series differs from its peers.

xpu_timer's names are those of `xpu_timer/common/constant.h` of intelligent-machine-learning/dlrover: a prefix for each type of
kernel (`XPU_TIMER_COLL_KERNEL_`, `XPU_TIMER_MM_KERNEL_`) before AVG_LATENCY, MAX_LATENCY, P99_LATENCY, MIN_LATENCY (µs) and
BANDWIDTH or FLOPS; `XPU_TIMER_COMMON_` before HANG, START_DUMP, END_DUMP, POOL_QUEUE_SIZE, WORK_QUEUE_SIZE, GC_COUNT and
DATA_LOADER_COUNT; `XPU_TIMER_MEMORY_COUNTER`. Its labels ip, pod_name and job_name are `NOT_SET` if the launcher sets none.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

_LINE = re.compile(r"^([A-Za-z_:][\w:]{0,199})(?:\{(.{0,4000}?)\})? +([-+.\dA-Za-z]{1,40})(?: +-?\d{1,20})?\s*$")
_LABEL = re.compile(r'([A-Za-z_]\w{0,99})="((?:[^"\\]|\\.){0,1000})"')
PEERS = 4
SIGMAS = 8.0
MIN_DIFFERENCE = 0.1  # minimum relative difference of a series from its peers

FAULT_COUNTERS = {  # counters that show a fault if they are not 0
    "DCGM_FI_DEV_XID_ERRORS": "hardware",
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": "hardware",
    "DCGM_FI_DEV_ECC_DBE_AGG_TOTAL": "hardware",
    "DCGM_FI_DEV_ROW_REMAP_FAILURE": "hardware",
    "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL": "hardware",
    "DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL": "hardware",
    "XPU_TIMER_COMMON_HANG": "hang",
}
PEER_GAUGES = (  # gauges that should be alike for all ranks of a job
    "DCGM_FI_DEV_SM_CLOCK",
    "DCGM_FI_DEV_MEM_CLOCK",
    "DCGM_FI_DEV_GPU_TEMP",
    "DCGM_FI_DEV_POWER_USAGE",
    "DCGM_FI_PROF_SM_ACTIVE",
    "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
    "DCGM_FI_PROF_DRAM_ACTIVE",
    "DCGM_FI_DEV_PCIE_REPLAY_COUNTER",
    "nccl_bus_bandwidth_gbs",
    "nccl_collective_exec_time_microseconds",
    # left out: extreme latencies are single kernels, and counts and queues fluctuate
    *(f"XPU_TIMER_{kind}_KERNEL_{name}" for kind in ("COLL", "MM") for name in ("AVG_LATENCY", "P99_LATENCY")),
    "XPU_TIMER_COLL_KERNEL_BANDWIDTH",
    "XPU_TIMER_MM_KERNEL_FLOPS",
)
_WHO = ("Hostname", "hostname", "host", "instance", "node", "pod_name", "ip")
_WHICH = ("gpu", "gpu_device_id", "rank", "local_rank", "device", "GPU_I_ID")
_APART = (
    *("kernel_name", "kernel", "collective", "message_size", "comm_id", "quantile", "le", "type"),
    *("operation", "level", "dtype", "algorithm", "transport", "small"),  # xpu_timer: a bucket of one kind of kernel
)
_UNSET = "NOT_SET"


class Sample(NamedTuple):
    """Value of one series."""

    name: str
    labels: tuple[tuple[str, str], ...]
    value: float

    @property
    def place(self) -> str:
        """Host and GPU or rank from the labels."""
        own = dict(self.labels)
        who = next((own[name] for name in _WHO if own.get(name, _UNSET) != _UNSET), "")
        which = next((f"{name} {own[name]}" for name in _WHICH if name in own), "")
        return " ".join(filter(None, (who, which))) or "?"


@dataclass(frozen=True)
class Remark:
    """A notable series: a fault, or one that differs from its peers by `ratio`."""

    name: str
    place: str
    value: float
    what: str
    ratio: float | None


def parse(lines: Iterable[str]) -> Iterator[Sample]:
    """Parse the samples of an exposition; comments and other lines are ignored."""
    for line in lines:
        found = _LINE.match(line)
        if found is None or line.startswith("#"):
            continue
        try:
            value = float(found[3])
        except ValueError:
            continue
        labels = tuple((name, text) for name, text in _LABEL.findall(found[2] or ""))
        yield Sample(found[1], labels, value)


def notable_series(samples: Iterable[Sample]) -> tuple[Remark, ...]:
    """List faults first, then series that differ from their peers."""
    rows: dict[tuple[str, tuple[str, ...]], list[Sample]] = defaultdict(list)
    out = []
    for one in samples:
        if one.name in FAULT_COUNTERS and one.value > 0:
            out.append(Remark(one.name, one.place, one.value, FAULT_COUNTERS[one.name], None))
        elif one.name in PEER_GAUGES and np.isfinite(one.value):
            rows[one.name, tuple(text for name, text in one.labels if name in _APART)].append(one)
    for own in rows.values():
        out += _apart(own)
    return tuple(out)


def _apart(own: list[Sample]) -> Iterator[Remark]:
    if len(own) < PEERS:
        return
    values = np.array([one.value for one in own])
    middle = float(np.median(values))
    spread = max(1.4826 * float(np.median(np.abs(values - middle))), MIN_DIFFERENCE / SIGMAS * abs(middle), 1e-12)
    for one in own:
        if abs(one.value - middle) > SIGMAS * spread:
            ratio = round(one.value / middle, 3) if middle else None
            yield Remark(one.name, one.place, one.value, "differs from its peers", ratio)
