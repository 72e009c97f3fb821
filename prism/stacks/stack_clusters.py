"""Cluster the stacks of all ranks, and find the ranks that differ."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from prism.stacks.flight_recorder import Recording
from prism.stacks.stack_dumps import Dump, Frame, Thread

# Functions that wait for other ranks, by name and by part of the file's path.
WAITS = frozenset(
    {
        "all_reduce",
        "all_gather",
        "all_gather_into_tensor",
        "all_gather_single",
        "all_gather_object",
        "all_to_all",
        "all_to_all_single",
        "allreduce",
        "reduce_scatter",
        "reduce_scatter_tensor",
        "reduce_scatter_single",
        "broadcast",
        "barrier",
        "monitored_barrier",
        "recv",
        "irecv",
        "send",
        "isend",
        "reduce",
        "gather",
        "scatter",
        "batch_isend_irecv",
        "wait",
        "synchronize",
        "_sync_params_and_buffers",
        "recv_forward",
        "recv_backward",
        "send_forward_recv_backward",
        "send_backward_recv_forward",
        "_communicate",
        "_exit_barrier",
        "wait_stream",
        "run_backward",
    }
)
# fmt: on
COMMUNICATION = ("distributed_c10d", "torch/distributed/", "megatron/core/pipeline_parallel/p2p", "deepspeed/comm", "nccl")
MOST_OUT = 0.5  # with a larger share of the ranks, outliers are not reported: the correct ranks are unknown
DEPTH = 12  # innermost calls that characterize a rank
PARTS = 2  # parts of a file's path that name a module


@dataclass(frozen=True)
class Cluster:
    """Ranks with the same calls. `waits`: whether these wait for other ranks."""

    ranks: tuple[int, ...]
    frames: tuple[Frame, ...]
    waits: bool

    @property
    def title(self) -> str:
        """Innermost call of the program, with its place."""
        own = next((one for one in self.frames if "site-packages" not in one.file), self.frames[0])
        place = f"{_module(own.file)}:{own.line}" if own.line else _module(own.file)
        inner = self.frames[0].function
        return f"{inner} ← {own.function} ({place})" if own is not self.frames[0] else f"{own.function} ({place})"


@dataclass(frozen=True)
class Outliers:
    """Ranks that differ, with the rule and the reason; empty if none can be determined."""

    ranks: tuple[int, ...]
    rule: str
    why: str
    confidence: float


def clusters(dumps: Sequence[Dump]) -> tuple[Cluster, ...]:
    """Cluster ranks by the calls of their training thread, largest cluster first. Dumps without a rank are left out."""
    members: dict[tuple[tuple[str, str], ...], list[int]] = defaultdict(list)
    frames: dict[tuple[tuple[str, str], ...], tuple[Frame, ...]] = {}
    for dump in dumps:
        thread = dump.main
        if dump.rank is None or thread is None or not thread.frames:
            continue
        key = tuple((one.function, _module(one.file)) for one in thread.frames[:DEPTH])
        members[key].append(dump.rank)
        frames.setdefault(key, thread.frames)
    found = [Cluster(tuple(sorted(set(own))), frames[key], waits(Thread("", frames[key]))) for key, own in members.items()]
    return tuple(sorted(found, key=lambda one: (-len(one.ranks), one.ranks)))


def waits(thread: Thread) -> bool:
    """Check whether a thread's innermost calls wait for other ranks."""
    return any(
        one.function in WAITS and any(part in one.file.replace("\\", "/") for part in COMMUNICATION)
        for one in thread.frames[:DEPTH]
    ) or any(one.function in ("run_backward", "_engine_run_backward") for one in thread.frames[:2])


def _module(file: str) -> str:
    return "/".join(file.replace("\\", "/").split("/")[-PARTS:])


def outliers(found: Sequence[Cluster], recordings: Sequence[Recording], world: int = 0) -> Outliers:
    """Find the ranks that block others: behind in a group, busy while others wait, without a dump, or alone.

    `world`: number of ranks, 0 if unknown. If several rules apply, the most direct evidence counts.
    """
    late = _behind(recordings)
    if late is not None:
        return late
    everyone = {rank for one in found for rank in one.ranks}
    largest = [one for one in found if len(one.ranks) > MOST_OUT * len(everyone)]  # a wait in C++ has no frame of its own
    waiting = {rank for one in found if one.waits or one in largest for rank in one.ranks}
    busy = everyone - waiting
    if waiting and 0 < len(busy) <= MOST_OUT * len(everyone):
        doing = next(one.title for one in found if set(one.ranks) <= busy)
        return Outliers(tuple(sorted(busy)), "busy", f"{len(waiting)} ranks wait in collectives; these are in {doing}", 0.95)
    absent = set(range(max(world, max(everyone, default=-1) + 1))) - everyone
    if absent and len(absent) <= MOST_OUT * max(len(everyone), 1):
        return Outliers(
            tuple(sorted(absent)), "absent", "no stack of these ranks: the process is gone, or does not answer", 0.8
        )
    if len(found) > 1:
        least = found[-1]
        rest = len(everyone) - len(least.ranks)
        if len(least.ranks) <= MOST_OUT / 2 * len(everyone) and rest > len(least.ranks):
            return Outliers(least.ranks, "alone", f"{rest} ranks are elsewhere; these are in {least.title}", 0.6)
    return Outliers((), "", "all ranks do the same, or too few to compare", 0.0)


def _behind(recordings: Sequence[Recording]) -> Outliers | None:
    """Find ranks whose last collective of a group precedes the others'. The group with the earliest missing one counts."""
    by_group: dict[str, dict[int, tuple[int, str]]] = defaultdict(dict)
    for one in recordings:
        if one.rank is not None:
            for group in one.groups:
                by_group[_reason(group.group, group.ranks)][one.rank] = (group.enqueued, group.operation)
    best: Outliers | None = None
    for name, ranks in sorted(by_group.items(), key=lambda item: -len(item[1])):
        low, high = min(number for number, _ in ranks.values()), max(number for number, _ in ranks.values())
        late = tuple(sorted(rank for rank, (number, _) in ranks.items() if number == low))
        if low == high or len(late) > MOST_OUT * len(ranks):
            continue
        waited = Counter(what for number, what in ranks.values() if number == high and what).most_common(1)
        what = f"{waited[0][0]} {low + 1}" if waited else f"collective {low + 1}"
        candidate = Outliers(late, "behind", f"{len(ranks) - len(late)} ranks of group {name or '0'} wait in {what}", 0.95)
        if best is None or len(candidate.ranks) < len(best.ranks):
            best = candidate
    return best


def _reason(group: str, ranks: tuple[int, ...]) -> str:
    return f"{group} {list(ranks)}" if ranks and len(ranks) <= 64 else group


def by_rank(found: Sequence[Cluster]) -> Mapping[int, int]:
    """Index of each rank's cluster."""
    return {rank: place for place, one in enumerate(found) for rank in one.ranks}
