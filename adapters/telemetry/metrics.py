"""Metrics in Prometheus's text format, from a registry of our own."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from adapters.telemetry.catalogue import CATALOGUE
from adapters.telemetry.catalogue import Metric as Entry
from adapters.telemetry.samples import Samples, samples
from bot.ports.figures import BOUNDS_S, BOUNDS_UNITS, Commits
from bot.ports.sight import Health, ProcessSight, Read

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Metrics:
    """The exposition. Not to be rendered by two threads at once."""

    def __init__(self) -> None:
        self._ours = _Ours()
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self._ours)
        ProcessCollector(registry=self._registry)

    def render(self, read: Read, process: ProcessSight, ready: Health) -> bytes:
        """Everything there is to say now."""
        self._ours.samples = self._ours.risen(samples(read, process, ready))
        self._ours.commits = process.commits
        return generate_latest(self._registry)


class _Ours(Collector):
    def __init__(self) -> None:
        self.samples: Samples = {}
        self.commits = Commits()
        self._most: dict[tuple[str, tuple[str, ...]], float] = {}

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        for entry in CATALOGUE:
            if entry.kind == "histogram":
                yield self._histogram(entry)
            else:
                yield _family(entry, self.samples.get(entry.name, ()))

    def risen(self, found: Samples) -> Samples:
        """The samples with counters that never fall: a lost call may turn out to be served."""
        most = self._most
        for entry in CATALOGUE:
            if entry.kind == "counter" and entry.name in found:
                for labels, value in found[entry.name]:
                    most[entry.name, labels] = max(value, most.get((entry.name, labels), 0.0))
                found[entry.name] = [
                    (labels, value) for (name, labels), value in most.items() if name == entry.name
                ]
        return found

    def _histogram(self, entry: Entry) -> Metric:
        commits = self.commits
        bounds: Sequence[float] = BOUNDS_S
        counts, total = commits.took, commits.took_s
        if entry.name == "headway_commit_units":
            bounds, counts, total = BOUNDS_UNITS, commits.held, commits.units
        family = HistogramMetricFamily(entry.name, entry.help)
        so_far, buckets = 0, []
        for bound, count in zip([*map(float, bounds), float("inf")], list(counts), strict=True):
            so_far += count
            buckets.append(("+Inf" if bound == float("inf") else str(bound), float(so_far)))
        family.add_metric([], buckets, sum_value=total)
        return family


def _family(entry: Entry, values: Iterable[tuple[tuple[str, ...], float]]) -> Metric:
    family: GaugeMetricFamily | CounterMetricFamily
    if entry.kind == "counter":
        name = entry.name.removesuffix("_total")
        family = CounterMetricFamily(name, entry.help, labels=entry.labels)
    else:
        family = GaugeMetricFamily(entry.name, entry.help, labels=entry.labels)
    for labels, value in values:
        family.add_metric(list(labels), value)
    return family
