"""Read facts that join logs with flows: layout sizes, hosts and addresses of ranks, rings, sequence numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from prism.logs.parsing.line_prefixes import Prefix

_ARGUMENTS = {
    "tensor_model_parallel_size": "tp",
    "tensor-model-parallel size": "tp",
    "tensor_parallel_size": "tp",
    "pipeline_model_parallel_size": "pp",
    "pipeline-model-parallel size": "pp",
    "pipeline_parallel_size": "pp",
    "data_parallel_size": "dp",
    "data-parallel size": "dp",
    "context_parallel_size": "cp",
    "context-parallel size": "cp",
    "expert_model_parallel_size": "ep",
    "world_size": "world",
    "world size": "world",
    "micro_batch_size": "micro_batch",
    "global_batch_size": "global_batch",
    "hidden_size": "hidden",
    "num_layers": "layers",
    "seq_length": "sequence",
}
MOST = 1 << 24
_ARGUMENT = re.compile(
    rf"(?<![\w-])({'|'.join(map(re.escape, _ARGUMENTS))})"
    r"(?:\s*[.]{3,}\s*|\s*[=:]\s*|['\"]\s*:\s*)(\d{1,9})(?![\d.e])"
)
_BOOTSTRAP = re.compile(
    r"NCCL INFO (?:Bootstrap ?: ?Using |NET/Socket : Using \[0\]|NET/IB : Using .*OOB )([\w.-]+):([0-9a-fA-F.:]+)<\d+>"
)
_COMM = re.compile(r"comm 0x[0-9a-f]+ rank (\d+) n[rR]anks (\d+)")
_RING = re.compile(r"(?:Channel|Ring) (\d+)(?:/\d+)? *: +((?:\d+ +){1,4096}\d+)\s*$")
_HCA = re.compile(r"NET/IB : Using ((?:\[\d+\][\w.-]+:\d+/\w+ ?(?:\[RO\];?)? ?)+)")
_SUMMARY_HOST = re.compile(r"^\s+host +: (\S+)")
_SUMMARY_RANK = re.compile(r"^\s+rank +: (\d+) \(local_rank: \d+\)")
_WORK = re.compile(r"last enqueued (?:NCCL )?work: (-?\d+), last completed (?:NCCL )?work: (-?\d+)")
_GROUP = re.compile(r"\[PG (?:ID )?(\d+)\b")
SAME_GROUP_RATIO = 0.9  # minimum ratio of sequence numbers within one process group
_TIMEOUT = re.compile(r"WorkNCCL\(SeqNum=(\d+), OpType=(\w+)(?:, NumelIn=(\d+), NumelOut=(\d+))?, Timeout\(ms\)=(\d+)\)")
_ANY = (_ARGUMENT, _BOOTSTRAP, _COMM, _RING, _HCA, _SUMMARY_HOST, _SUMMARY_RANK, _WORK, _TIMEOUT)


@dataclass
class Facts:
    """Facts from the lines of a stream. The first value counts, because later ones may belong to another run."""

    sizes: dict[str, int] = field(default_factory=dict)
    hosts: dict[int, str] = field(default_factory=dict)  # rank → host
    addresses: dict[str, str] = field(default_factory=dict)  # host → address
    ranks: dict[str, set[int]] = field(default_factory=dict)  # host → ranks
    rings: dict[int, tuple[int, ...]] = field(default_factory=dict)  # channel → ranks in order
    devices: set[str] = field(default_factory=set)
    work: dict[str, dict[int, int]] = field(default_factory=dict)  # process group → rank → the last collective that it started
    library: str = ""
    _host: str = ""

    def read(self, line: Prefix, rank: int | None) -> None:
        """Read the facts in a line."""
        text = line.rest
        own = line.rank if line.rank is not None else rank
        for name, value in _ARGUMENT.findall(text):
            if 0 < int(value) < MOST:
                self.sizes.setdefault(_ARGUMENTS[name], int(value))
        if "NCCL" in text:
            self.library = self.library or "nccl"
            self._nccl(line, own)
        if found := _SUMMARY_HOST.match(text):
            self._host = found[1]
        elif (found := _SUMMARY_RANK.match(text)) and self._host:
            self.place(int(found[1]), self._host)
        if own is not None and (found := _WORK.search(text) or _TIMEOUT.search(text)):
            group = _GROUP.search(text)
            kind = f"group {group[1]}" if group else "" if found.re is _WORK else "timed out"
            ranks = self.work.setdefault(kind, {})
            ranks[own] = max(ranks.get(own, -1), int(found[1]))

    def place(self, rank: int, host: str) -> None:
        """Record the host of a rank."""
        if 0 <= rank < MOST and len(self.hosts) < MOST:
            self.hosts.setdefault(rank, host)
            self.ranks.setdefault(host, set()).add(rank)

    def behind(self) -> list[int]:
        """List the ranks whose last collective is before that of the others, in the process group with the most ranks."""
        for ranks in sorted(self.work.values(), key=len, reverse=True):
            low, high = min(ranks.values()), max(ranks.values())
            late = sorted(rank for rank, number in ranks.items() if number == low)
            if high * SAME_GROUP_RATIO <= low < high and len(late) <= len(ranks) / 2:
                return late
        return []

    def _nccl(self, line: Prefix, rank: int | None) -> None:
        text = line.rest
        if (found := _BOOTSTRAP.search(text)) and line.host:
            self.addresses.setdefault(line.host, found[2])
        elif found := _COMM.search(text):
            own = int(found[1]) if rank is None else rank
            self.sizes["world"] = max(self.sizes.get("world", 0), int(found[2]))
            if line.host and int(found[2]) == self.sizes["world"]:
                self.place(own, line.host)
        elif found := _RING.search(text):
            members = tuple(int(one) for one in found[2].split())
            if len(set(members)) == len(members):
                self.rings.setdefault(int(found[1]), members)
        if found := _HCA.search(text):
            self.devices |= {f"{line.host}/{one}" for one in re.findall(r"\]([\w.-]+):\d+/", found[1])}

    def merge(self, other: Facts) -> None:
        """Add the facts of another stream."""
        for rank, host in other.hosts.items():
            self.place(rank, host)
        for name, size in other.sizes.items():
            self.sizes[name] = max(size, self.sizes.get(name, 0)) if name == "world" else self.sizes.get(name, size)
        self.addresses = other.addresses | self.addresses
        self.rings = other.rings | self.rings
        for kind, ranks in other.work.items():
            own = self.work.setdefault(kind, {})
            own |= {rank: max(number, own.get(rank, -1)) for rank, number in ranks.items()}
        self.devices |= other.devices
        self.library = self.library or other.library


def is_fact(text: str) -> bool:
    """Check whether a line contains a fact for `Facts`."""
    return any(form.search(text) for form in _ANY)
