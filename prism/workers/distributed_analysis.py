"""The analysis on more than one core or machine: the parts of a cluster that have nothing in common go to any executor.

What an executor is given can be pickled and depends on nothing else, so it may run it in a thread, a process or, Dask's, on
another machine, and run it again elsewhere where that went away. Records that are in memory travel with the work; others the
worker reads from where they are.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, CancelledError, Executor, Future, wait
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import compress
from typing import Any

import numpy as np

from collectors.clickhouse import drivers
from collectors.columns.record import Flows, Mask, Transits
from prism.analysis import MAX_RECORDS, Told, diagnose, diagnose_job, merge_analyses, merge_records, number_candidates
from prism.inventory.operator_hints import Hints
from prism.jobs import around, naming, recognize
from prism.jobs.endpoint_pairs import Pairs, divided, pairs_of, parts
from prism.model import Diagnosis, Job, Source
from prism.storage.stored_flows import StoredRecords
from prism.topology import Topology
from prism.tracking.flow_sources import Memory, Records
from prism.tracking.step_numbers import Known

LOST = (BrokenExecutor, CancelledError)  # an executor lost the work: its processes, its scheduler are gone


@dataclass(frozen=True, eq=False)
class Work:
    """A part of a cluster to be looked at, or one job of it. `window` is when the first and last record of anybody was, ns.

    `endpoints` are those of the part and whom they talk to; all of them, where it is empty. `condense` says that the cluster
    has so many records that those which nearly touch are to be one.
    """

    records: Records
    window: tuple[int, int]
    endpoints: tuple[str, ...]
    topology: Topology | None
    transits: Transits
    job: Job | None = None
    condense: bool = False
    hints: Hints | None = None


@dataclass(frozen=True, eq=False)
class Glance:
    """One job of a live window to be looked at: the records that start from `since_ns` on and end until `now_ns`.

    `endpoints` are the job's and whom they talk to; `window` and `known` are as in `diagnose`.
    """

    records: Records
    since_ns: int
    now_ns: int
    endpoints: tuple[str, ...]
    job: Job
    window: tuple[int, int]
    source: Source
    topology: Topology | None
    transits: Transits
    known: Known | None = None
    hints: Hints | None = None


def glanced(glance: Glance) -> Diagnosis:
    """What a window tells of a job."""
    flows = glance.records.between(glance.since_ns, glance.now_ns + 1, endpoints=glance.endpoints)
    return diagnose(
        flows.take(flows.end_ns <= glance.now_ns),
        glance.source,
        topology=glance.topology,
        transits=glance.transits,
        jobs=(glance.job,),
        window=glance.window,
        least=2,
        now_ns=glance.now_ns,
        known=glance.known,
        hints=None if glance.hints is None else glance.hints.only(glance.job.endpoints),
    )


def all_glanced(executor: Executor | None, glances: Sequence[Glance | None]) -> Iterator[Diagnosis | None]:
    """What windows tell of jobs, in order; without an executor, or where it is broken, they are looked at here."""
    if executor is None:
        yield from (None if glance is None else glanced(glance) for glance in glances)
        return
    handed = [None if glance is None else _handed(executor, glance) for glance in glances]
    for glance, future in zip(glances, handed, strict=True):
        told = None
        with suppress(*LOST):
            told = future.result() if future is not None else None
        yield told if told is not None or glance is None else glanced(glance)


def _handed(executor: Executor, glance: Glance) -> Future[Diagnosis] | None:
    try:
        return executor.submit(glanced, glance)
    except BrokenExecutor:
        return None


@dataclass(frozen=True)
class Kept:
    """Records of the store at a place (see `clickhouse.opened`), which whoever holds this reads there himself."""

    where: str

    def between(self, start_ns: int, end_ns: int, *, endpoints: Collection[str] = (), limit: int | None = None) -> Flows:
        """See `Records`. Raises StoreError."""
        with _READING:
            return _store(self.where).between(start_ns, end_ns, endpoints=endpoints, limit=limit)

    def pairs(self, start_ns: int, end_ns: int) -> Pairs:
        """Who sent to whom in records that start in [start_ns, end_ns), added up there. Raises StoreError."""
        with _READING:
            return _store(self.where).pairs(start_ns, end_ns)


_READING = threading.Lock()  # one connection serves all threads of a worker


@lru_cache(maxsize=4)
def _store(where: str) -> StoredRecords:
    return StoredRecords(drivers.opened(where), create=False)


Answer = tuple[Told, ...] | tuple[Job, ...]


def done(work: Work) -> Answer:
    """What is told of a job or of a part's only one; of a part with several, its jobs: each is work of its own."""
    flows = work.records.between(work.window[0], work.window[1] + 1, endpoints=work.endpoints).narrowed()
    flows = merge_records(flows) if work.condense else flows
    jobs = recognize(flows, work.topology, window=work.window, hints=work.hints) if work.job is None else (work.job,)
    if len(jobs) > 1:
        return jobs
    given: Mapping[str, Any] = {"topology": work.topology, "transits": work.transits, "hints": work.hints}
    return tuple(diagnose_job(naming(around(flows, job), job), job, work.window, **given) for job in jobs)


def diagnose_over(
    executor: Executor,
    records: Records,
    source: Source,
    *,
    pairs: Pairs | None = None,
    topology: Topology | None = None,
    transits: Transits | None = None,
    hints: Hints | None = None,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
    ahead: int = 16,
) -> Diagnosis:
    """The same as `diagnose`, by an executor. `pairs` sums up the records, where these are not in memory.

    No more than `ahead` pieces of work are handed out at once. What was with a worker that broke its executor is done here.
    """
    if pairs is None:
        if not isinstance(records, Memory):
            raise ValueError("records outside memory need sums by pair")
        pairs = pairs_of(records.flows)
    condense = source.flows > MAX_RECORDS
    if condense and isinstance(records, Memory):
        records, condense = Memory(merge_records(records.flows)), False
    site = _Site(records, pairs, topology, transits or Transits.empty(), condense, hints)
    told: list[Told] = []
    waiting: dict[Future[Answer], Work] = {}
    total = 0
    for work in site.works():
        total += 1
        waiting[_submitted(executor, work)] = work
        while len(waiting) >= ahead:
            told += _taken(executor, site, waiting)
            progress(total - len(waiting), 0)
    while waiting:
        told += _taken(executor, site, waiting)
        progress(max(total - len(waiting), 0), total)
    progress(total, total)
    talkers = len(np.union1d(pairs.src, pairs.dst))
    return merge_analyses(source, number_candidates(told), topology, source.flows, talkers, hints, pairs.endpoints)


@dataclass(frozen=True, eq=False)
class _Site:
    """A cluster, as work is cut from it."""

    records: Records
    pairs: Pairs
    topology: Topology | None
    transits: Transits
    condense: bool = False
    hints: Hints | None = None

    def works(self) -> Iterator[Work]:
        """A piece of work for each part."""
        apart = parts(self.pairs, self.topology)
        if isinstance(self.records, Memory):
            for own in divided(self.records.flows, apart):
                yield self._work(Memory(own), tuple(own.endpoints))
            return
        for members in apart:
            inside = np.zeros(len(self.pairs.endpoints), np.bool_)
            inside[members] = True
            yield self._work(self.records, self._around(inside))

    def job(self, work: Work, job: Job) -> Work:
        """A job of a part as work of its own."""
        if isinstance(work.records, Memory):
            own = around(work.records.flows, job)
            return replace(self._work(Memory(own), tuple(own.endpoints)), job=job)
        asked = frozenset(job.endpoints)
        inside = np.array([address in asked for address in self.pairs.endpoints], np.bool_)
        return replace(self._work(work.records, self._around(inside)), job=job)

    def _around(self, inside: Mask) -> tuple[str, ...]:
        """Some endpoints and whom they talk to."""
        near = inside[self.pairs.src] | inside[self.pairs.dst]
        both = inside.copy()
        both[self.pairs.src[near]] = both[self.pairs.dst[near]] = True
        return tuple(compress(self.pairs.endpoints, both))

    def _work(self, records: Records, endpoints: tuple[str, ...]) -> Work:
        own = None
        if self.topology is not None:
            known = self.topology.endpoints
            hosts = {self.topology.host(address) for address in endpoints} - {None}  # some of their endpoints may be silent
            near = set(endpoints).union(*(self.topology.at[host] for host in hosts if host is not None))
            own = replace(self.topology, endpoints={address: known[address] for address in known if address in near})
        asked = () if isinstance(records, Memory) else endpoints
        return Work(records, self.pairs.window, asked, own, self.transits, condense=self.condense, hints=self.hints)


def _submitted(executor: Executor, work: Work) -> Future[Answer]:
    """Work that an executor does; where it is broken, work that has been done."""
    try:
        return executor.submit(done, work)
    except BrokenExecutor:
        here: Future[Answer] = Future()
        here.set_result(done(work))
        return here


def _taken(executor: Executor, site: _Site, waiting: dict[Future[Answer], Work]) -> list[Told]:
    """What is told by the next work to be done, which is taken from what is waited for; its jobs are work in turn."""
    told: list[Told] = []
    ready, _ = wait(waiting, return_when=FIRST_COMPLETED)
    for future in ready:
        work = waiting.pop(future)
        try:
            answer = future.result()
        except LOST:
            answer = done(work)
        for one in answer:
            if isinstance(one, Told):
                told.append(one)
            else:
                more = site.job(work, one)
                waiting[_submitted(executor, more)] = more
    return told
