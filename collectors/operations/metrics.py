"""Serve the counters of a running collector at `/metrics` for Prometheus. Values are read when they are scraped."""

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
    """An exemplar of a counter (OpenMetrics 1.0): labels of at most 128 characters, a value, and when that was, s."""

    labels: Mapping[str, str]
    value: float
    at_s: float


class Count(NamedTuple):
    """A number by the values of its labels. A `level` goes up and down, other numbers only up."""

    name: str
    meaning: str
    values: Mapping[tuple[str, ...], float]
    labels: tuple[str, ...] = ()
    level: bool = False
    examples: Mapping[tuple[str, ...], Example] = MappingProxyType({})


def summed(*tallies: Mapping[str, int]) -> dict[str, int]:
    """The sums of tallies that another thread may be adding to."""
    found: dict[str, int] = {}
    for tally in tallies:
        for name, number in dict(tally).items():
            found[name] = found.get(name, 0) + number
    return found


def keyed(numbers: Mapping[str, float]) -> dict[tuple[str, ...], float]:
    """Numbers by one label."""
    return {(name,): number for name, number in dict(numbers).items()}


class Published:
    """Counts as they stood when the one thread that changes them last said so: all of one moment, whoever reads them."""

    def __init__(self, counts: Callable[[], Iterable[Count]]) -> None:
        self._counts, self._at_s = counts, -math.inf
        self.refresh()

    def refresh(self, *, every_s: float = 0.0) -> None:
        """They are sound now: no work is half done. Taken where those at hand are older than that."""
        now = time.monotonic()
        if now - self._at_s >= every_s:
            self._now, self._at_s = tuple(self._counts()), now

    def __call__(self) -> tuple[Count, ...]:
        """All counts as they stood then."""
        return self._now


def flat(counts: Iterable[Count]) -> dict[str, float]:
    """All numbers by one name each, for a line of text; those by exporter and those that are 0 for a reason are left out."""
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
        """Nothing before it is asked for."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """All counts now."""
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
    """Counts as Prometheus' library takes them."""
    made = CollectorRegistry(auto_describe=False)
    made.register(_Asked(counts))
    return made


@contextmanager
def served(host: str, port: int, counts: Counts) -> Iterator[int]:
    """Counts at http://host:port/metrics while the context lasts; the port. Raises OSError."""
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
