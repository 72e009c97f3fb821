"""Exporters that fall silent, by what is played: notices instead of claims, and claims where the traffic has ceased."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from collectors.columns.record import Transits, concatenated
from prism.exporters.exporter_silence import (
    MAX_CONFIDENCE_BLIND,
    MAX_CONFIDENCE_LOST,
    ExporterReception,
    doubt_outages,
    find_silent,
    loss_notes,
    records_of,
)
from prism.findings.same_finding import is_claim
from prism.live.live_analysis import Watch
from prism.model import Finding, Severity
from prism.recordings.timed_playback import play, ticks
from prism.synth.scenario.specification import Cluster, Fault, Job, Nuisances, Spec
from prism.synth.simulation import simulate
from prism.tracking.record_windows import SECOND

STEP = Job(dp=2, pp=2, micro=4, steps=32, forward_ms=30, backward_ms=60, gradient_octets=4_000_000, transport="tcp")
LEAF = Cluster(hosts=4, hosts_per_leaf=4, nic_gbit=4.0)


def run(cluster, *jobs, faults=(), monitor=False):
    made = simulate(Spec("run", cluster, jobs, faults, Nuisances(monitor=monitor, monitor_s=0.1)), seed=3)
    return made.flows, made.truth


def at(flows, seconds):
    return int(flows.start_ns.min()) + int(seconds * SECOND)


def without(flows, exporter, since_ns, until_ns=1 << 62):
    """The records but for those of an exporter in a time."""
    gone = flows.exporters.index(exporter)
    return flows.take(~((flows.exporter == gone) & (flows.end_ns >= since_ns) & (flows.start_ns < until_ns)))


def played(flows, heard=lambda _now: {}):
    watch = Watch()

    def hearing(clock):
        watch.set_reception(heard(clock))
        return True

    return watch, list(play(watch, ticks(flows, Transits.empty(), every_s=0.5), wait=hearing))


def claims(told):
    return {(case.finding.kind, case.finding.ids) for board in told for case in board.cases if is_claim(case.finding)}


def notices(told, name):
    return [text for board in told for text in board.unexplained if text.startswith(f"no records from exporter {name} ")]


@pytest.fixture(scope="module")
def across():
    """A job on two leaves."""
    return run(replace(LEAF, hosts_per_leaf=2), STEP)


def test_a_job_that_goes_on_elsewhere_is_not_blamed_and_keeps_its_name_when_it_is_back(across):
    flows, _ = across
    gone, back = at(flows, 9), at(flows, 12)
    watch, told = played(without(flows, "leaf0", gone, back))
    assert claims(told) == set()
    assert notices(told, "leaf0")
    assert not notices(told[-1:], "leaf0")
    assert watch.quiet == {}
    names = {status.id for board in told for status in board.jobs}
    assert len(names) == 1
    (status,) = told[-1].jobs
    assert (status.state, status.found.parallelism.layout.pp, len(status.found.job.endpoints)) == ("running", 2, 4)


def test_one_that_stays_away_is_reported_all_the_time(across):
    flows, _ = across
    watch, told = played(without(flows, "leaf0", at(flows, 9)))
    assert claims(told) == set()
    assert list(watch.quiet) == ["leaf0"]
    assert notices(told[-1:], "leaf0")


def test_of_a_job_that_evaluates_on_two_leaves_the_later_one_is_not_missed():
    flows, _ = run(replace(LEAF, hosts_per_leaf=2), replace(STEP, evaluate_every=20, evaluate_s=4.0))
    watch, _ = played(flows)
    payload = flows.take(~flows.control())
    payload = payload.take(np.argsort(payload.end_ns))
    resumed = int(np.argmax(np.diff(payload.end_ns))) + 1
    assert [job.state for job in watch.jobs] == ["running"]
    assert list(find_silent(payload.take(slice(0, resumed + 1)), watch.jobs, {})) == []


def beside():
    """A job on a leaf of its own, and one elsewhere."""
    other = replace(STEP, name="B", first_host=4, begin_s=0.2, forward_ms=33)  # without a topology twins in step are one job
    return replace(LEAF, hosts=8), STEP, other


def test_a_job_that_ends_with_all_that_its_leaf_reports_does_not_hang():
    flows, _ = run(*beside(), monitor=True)
    watch, told = played(without(flows, "leaf0", at(flows, 9)))
    assert claims(told) == set()
    assert notices(told, "leaf0")
    assert {status.state for status in told[-1].jobs} == {"running"}
    assert list(watch.quiet) == ["leaf0"]


def hung(monitor=False):
    fault = Fault("hang", "A", (2,), first=18, stop=19, seconds=9.0)
    flows, truth = run(*beside(), faults=(fault,), monitor=monitor)
    return flows.take(flows.end_ns < truth["faults"][0]["start_ns"] + 4 * SECOND)


def test_a_job_that_falls_silent_where_others_are_heard_hangs():
    watch, told = played(hung(monitor=True))
    assert claims(told) == {("hang", ("10.10.2.1",))}
    assert watch.quiet == {}
    assert all(case.finding.confidence > MAX_CONFIDENCE_BLIND for case in told[-1].cases if is_claim(case.finding))


def test_one_that_is_all_its_leaf_reports_may_hang_and_why_that_is_not_sure_is_reported():
    _, told = played(hung())
    assert claims(told) == {("hang", ("10.10.2.1",))}
    (finding,) = [case.finding for case in told[-1].cases if is_claim(case.finding)]
    assert finding.confidence <= MAX_CONFIDENCE_BLIND
    assert "no other traffic was recorded" in finding.evidence["collection"]


def test_one_whose_exporter_sends_other_datagrams_hangs_for_sure():
    _, told = played(hung(), lambda now: {"leaf0": ExporterReception(now)})
    assert claims(told) == {("hang", ("10.10.2.1",))}
    (finding,) = [case.finding for case in told[-1].cases if is_claim(case.finding)]
    assert finding.confidence > MAX_CONFIDENCE_BLIND
    assert "collection" not in finding.evidence


def finding(kind="hang"):
    return Finding(kind, kind, "j", Severity.CRITICAL, "endpoint", ("10.0.0.1",), SECOND, 5 * SECOND, 1.5, 9.0, "m", {}, 0.95)


def test_an_outage_in_which_datagrams_were_lost_is_hardly_believed():
    lost = {"leaf0": ExporterReception(5 * SECOND, 7, 4 * SECOND), "leaf1": ExporterReception(5 * SECOND)}
    (told,) = doubt_outages([finding()], lost)
    assert told.confidence == MAX_CONFIDENCE_LOST
    assert "leaf0" in told.evidence["collection"]
    assert list(doubt_outages([finding("slow_rank")], lost)) == [finding("slow_rank")]
    assert list(doubt_outages([finding()], {"leaf0": ExporterReception(5 * SECOND, 7, 60 * SECOND)})) == [finding()]


def test_losses_are_reported_once():
    before, now = {"a": ExporterReception(1, 2, 1)}, {"a": ExporterReception(5, 4, 3), "b": ExporterReception(5)}
    (words,) = loss_notes(before, now)
    assert words.startswith("exporter a: 2 datagrams or records were lost until 00:00:00 UTC")
    assert list(loss_notes(now, now)) == []


def test_records_by_some_exporters(across):
    flows, _ = across
    some = records_of(flows, {"leaf0"})
    assert {flows.exporters[code] for code in some.exporter} == {"leaf0"}
    assert records_of(flows, {"nobody"}) is flows
    assert records_of(flows, set(flows.exporters)) is flows


def test_without_jobs_or_exporters_nobody_is_missed(across):
    flows, _ = across
    assert list(find_silent(flows, (), {})) == []
    bare = concatenated([replace(flows, exporters=(), exporter=np.zeros(len(flows), np.int32))])
    assert list(find_silent(bare, (), {})) == []
    assert Counter(flows.exporters)["leaf0"] == 1
