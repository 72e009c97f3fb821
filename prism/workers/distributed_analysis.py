"""Run the analysis on several cores or machines: independent parts of a cluster go to any executor.

Work for an executor can be pickled and has no other dependencies. So it runs in a thread, a process or, with Dask, on another
machine, and runs again elsewhere after a failure. Records in memory travel with the work; workers read other records from their
source.
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
from prism.analysis import (
    CandidateAnalysis,
    diagnose,
    diagnose_job,
    merge_analyses,
    merge_records,
    number_candidates,
    too_many,
)
from prism.inventory.operator_hints import Hints
from prism.jobs import around, naming, recognize
from prism.jobs.endpoint_pairs import Pairs, pairs_of, parts, split_by_part
from prism.model import Diagnosis, Job, Source
from prism.storage.stored_flows import StoredRecords
from prism.topology import Topology
from prism.tracking.flow_sources import Memory, Records
from prism.tracking.step_numbers import Known

LOST = (BrokenExecutor, CancelledError)  # an executor lost the work: its processes or its scheduler are gone


@dataclass(frozen=True, eq=False)
class Work:
    """A part of a cluster, or one job of it, to be analysed. `window`: first and last time of all records, ns.

    `endpoints`: those of the part and their peers; empty for all. `condense`: the cluster has so many records that nearly
    adjacent ones are merged.
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
class WindowWork:
    """One job of a live window to be analysed: the records that start at or after `since_ns` and end by `now_ns`.

    `endpoints`: those of the job and their peers. `window` and `known` are as in `diagnose`.
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


def diagnose_window(work: WindowWork) -> Diagnosis:
    """Diagnose a job in a window."""
    flows = work.records.between(work.since_ns, work.now_ns + 1, endpoints=work.endpoints)
    return diagnose(
        flows.take(flows.end_ns <= work.now_ns),
        work.source,
        topology=work.topology,
        transits=work.transits,
        jobs=(work.job,),
        window=work.window,
        least=2,
        known=work.known,
        hints=None if work.hints is None else work.hints.only(work.job.endpoints),
    )


def diagnose_windows(executor: Executor | None, works: Sequence[WindowWork | None]) -> Iterator[Diagnosis | None]:
    """Diagnose jobs in their windows, in order; locally without an executor, or if it is broken."""
    if executor is None:
        yield from (None if work is None else diagnose_window(work) for work in works)
        return
    handed = [None if work is None else _submit_window(executor, work) for work in works]
    for work, future in zip(works, handed, strict=True):
        diagnosis = None
        with suppress(*LOST):
            diagnosis = future.result() if future is not None else None
        yield diagnosis if diagnosis is not None or work is None else diagnose_window(work)


def _submit_window(executor: Executor, work: WindowWork) -> Future[Diagnosis] | None:
    try:
        return executor.submit(diagnose_window, work)
    except BrokenExecutor:
        return None


@dataclass(frozen=True)
class StoredSource:
    """Records of the store at a place (see `clickhouse.opened`); each process opens its own connection."""

    where: str

    def between(self, start_ns: int, end_ns: int, *, endpoints: Collection[str] = (), limit: int | None = None) -> Flows:
        """Return records, see `Records`. Raises StoreError."""
        with _READING:
            return _store(self.where).between(start_ns, end_ns, endpoints=endpoints, limit=limit)

    def pairs(self, start_ns: int, end_ns: int) -> Pairs:
        """Sum the records that start in [start_ns, end_ns) by pair, in the store. Raises StoreError."""
        with _READING:
            return _store(self.where).pairs(start_ns, end_ns)


_READING = threading.Lock()  # one connection serves all threads of a worker


@lru_cache(maxsize=4)
def _store(where: str) -> StoredRecords:
    return StoredRecords(drivers.opened(where), create=False)


Answer = tuple[CandidateAnalysis, ...] | tuple[Job, ...]


def done(work: Work) -> Answer:
    """Diagnose a job, or the only job of a part; of a part with several jobs, return the jobs: each is new work."""
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
    max_pending: int = 16,
) -> Diagnosis:
    """Diagnose records with an executor; the result equals that of `diagnose`.

    Parameters
    ----------
    executor : Executor
        Runs the work.
    records : Records
        Source of the records.
    source : Source
        Description of the input.
    pairs : Pairs, optional
        Sums of the records if these are not in memory.
    topology, transits, hints : optional
        As in `diagnose`.
    progress : callable
        Receives done and total.
    max_pending : int
        Work that is submitted at once. Work of a broken executor is done locally.
    """
    if pairs is None:
        if not isinstance(records, Memory):
            raise ValueError("records outside memory need sums by pair")
        pairs = pairs_of(records.flows)
    talkers = len(np.union1d(pairs.src, pairs.dst))
    condense = too_many(source.flows, talkers)
    if condense and isinstance(records, Memory):
        records, condense = Memory(merge_records(records.flows)), False
    site = _Site(records, pairs, topology, transits or Transits.empty(), condense, hints)
    results: list[CandidateAnalysis] = []
    waiting: dict[Future[Answer], Work] = {}
    total = 0
    for work in site.works():
        total += 1
        waiting[_submitted(executor, work)] = work
        while len(waiting) >= max_pending:
            results += _next_results(executor, site, waiting)
            progress(total - len(waiting), 0)
    while waiting:
        results += _next_results(executor, site, waiting)
        progress(max(total - len(waiting), 0), total)
    progress(total, total)
    return merge_analyses(source, number_candidates(results), topology, source.flows, talkers, hints, pairs.endpoints)


@dataclass(frozen=True, eq=False)
class _Site:
    """A cluster from which work is created."""

    records: Records
    pairs: Pairs
    topology: Topology | None
    transits: Transits
    condense: bool = False
    hints: Hints | None = None

    def works(self) -> Iterator[Work]:
        """Yield the work for each part."""
        apart = parts(self.pairs, self.topology)
        if isinstance(self.records, Memory):
            for own in split_by_part(self.records.flows, apart):
                yield self._work(Memory(own), tuple(own.endpoints))
            return
        for members in apart:
            inside = np.zeros(len(self.pairs.endpoints), np.bool_)
            inside[members] = True
            yield self._work(self.records, self._around(inside))

    def job(self, work: Work, job: Job) -> Work:
        """Create work for one job of a part."""
        if isinstance(work.records, Memory):
            own = around(work.records.flows, job)
            return replace(self._work(Memory(own), tuple(own.endpoints)), job=job)
        members = frozenset(job.endpoints)
        inside = np.array([address in members for address in self.pairs.endpoints], np.bool_)
        return replace(self._work(work.records, self._around(inside)), job=job)

    def _around(self, inside: Mask) -> tuple[str, ...]:
        """Return some endpoints and their peers."""
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
        wanted = () if isinstance(records, Memory) else endpoints
        return Work(records, self.pairs.window, wanted, own, self.transits, condense=self.condense, hints=self.hints)


def _submitted(executor: Executor, work: Work) -> Future[Answer]:
    """Submit work; if the executor is broken, do it locally."""
    try:
        return executor.submit(done, work)
    except BrokenExecutor:
        here: Future[Answer] = Future()
        here.set_result(done(work))
        return here


def _next_results(executor: Executor, site: _Site, waiting: dict[Future[Answer], Work]) -> list[CandidateAnalysis]:
    """Return the results of the next finished work; jobs that it found become new work."""
    results: list[CandidateAnalysis] = []
    ready, _ = wait(waiting, return_when=FIRST_COMPLETED)
    for future in ready:
        work = waiting.pop(future)
        try:
            answer = future.result()
        except LOST:
            answer = done(work)
        for one in answer:
            if isinstance(one, CandidateAnalysis):
                results.append(one)
            else:
                more = site.job(work, one)
                waiting[_submitted(executor, more)] = more
    return results
