"""Serve the counters of a running collector at `/metrics` for Prometheus. Values are read at each scrape."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import NamedTuple

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar

PREFIX = "prism_collect_"


class Example(NamedTuple):
    """An exemplar of a counter (OpenMetrics 1.0): labels of at most 128 characters, a value, and its time, s."""

    labels: Mapping[str, str]
    value: float
    at_s: float


class Count(NamedTuple):
    """A metric by the values of its labels. With `level` a gauge, else a counter."""

    name: str
    meaning: str
    values: Mapping[tuple[str, ...], float]
    labels: tuple[str, ...] = ()
    level: bool = False
    examples: Mapping[tuple[str, ...], Example] = MappingProxyType({})


def sum_tallies(*tallies: Mapping[str, int]) -> dict[str, int]:
    """Sum tallies that another thread may be updating."""
    found: dict[str, int] = {}
    for tally in tallies:
        for name, number in dict(tally).items():
            found[name] = found.get(name, 0) + number
    return found


def keyed(numbers: Mapping[str, float]) -> dict[tuple[str, ...], float]:
    """Convert numbers by one label."""
    return {(name,): number for name, number in dict(numbers).items()}


class Published:
    """Consistent counters of one moment, published by the only thread that changes them."""

    def __init__(self, counts: Callable[[], Iterable[Count]]) -> None:
        self._counts, self._at_s = counts, -math.inf
        self.refresh()

    def refresh(self, *, every_s: float = 0.0) -> None:
        """Publish the counters, unless the published ones are newer than `every_s`. Call when they are consistent."""
        now = time.monotonic()
        if now - self._at_s >= every_s:
            self._now, self._at_s = tuple(self._counts()), now

    def __call__(self) -> tuple[Count, ...]:
        """Return the published counters."""
        return self._now


def flat(counts: Iterable[Count]) -> dict[str, float]:
    """Flatten numbers to one name each for a line of text, without those by exporter and zero counts by reason."""
    found = {}
    for count in counts:
        for values, number in count.values.items():
            if "exporter" not in count.labels and (number or not values):
                name = "_".join((count.name.removeprefix(PREFIX), *values))
                found[name.replace(" ", "_").replace(":", "")] = number
    return found


Counts = Callable[[], Iterable[Count]]


class _Asked(Collector):
    def __init__(self, counts: Counts) -> None:
        self.counts = counts

    def describe(self) -> Iterable[Metric]:
        """Describe nothing in advance."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield all current counters."""
        for count in self.counts():
            if count.level:
                gauge = GaugeMetricFamily(count.name, count.meaning, labels=count.labels)
                for values, number in count.values.items():
                    gauge.add_metric(values, number)
                yield gauge
                continue
            family = CounterMetricFamily(count.name, count.meaning, labels=count.labels)
            for values, number in count.values.items():
                one = count.examples.get(values)
                shown = Exemplar(dict(one.labels), one.value, one.at_s) if one is not None else None
                family.add_metric(values, number, exemplar=shown)
            yield family


def registry(counts: Counts) -> CollectorRegistry:
    """Make a registry of Prometheus' library."""
    made = CollectorRegistry(auto_describe=False)
    made.register(_Asked(counts))
    return made


@contextmanager
def served(host: str, port: int, counts: Counts) -> Iterator[int]:
    """Serve counters at http://host:port/metrics while the context lasts; yields the port. Raises OSError."""
    try:
        server, thread = start_http_server(port, host, registry(counts))
    except OSError as error:
        raise OSError(error.errno, error.strerror, f"{host}:{port}") from None
    try:
        yield int(server.server_port)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
