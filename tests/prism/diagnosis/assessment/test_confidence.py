from dataclasses import replace

import numpy as np
import pytest

from prism.diagnosis.assessment.confidence import completeness, confidence, named, peers_known
from prism.model import Alternative, Isolation
from tests.prism.faults import TOPOLOGY, case, claims_of
from tests.prism.traffic import MS, T0, Wire, seen, training


def flows():
    return training(dp=6).flows(TOPOLOGY)


def test_all_records_are_complete():
    for tcp in (False, True):
        assert completeness(seen(training(dp=6, wire=Wire(tcp=tcp)).flows())) == (1.0, ())
    assert completeness(seen(training(dp=2, pp=3).flows())) == (1.0, ())


def test_samples_are_not():
    sampled = replace(flows(), sampling_rate=np.full(len(flows()), 64))
    share, reasons = completeness(seen(sampled))
    assert share < 0.5
    assert reasons == ("traffic is sampled: 1 packet in 64",)


def test_an_unknown_sampling_rate_lowers_the_confidence():
    rate = np.ones(len(flows()), np.int64)
    rate[::2] = 0
    some = completeness(seen(replace(flows(), sampling_rate=rate)))
    assert 0.4 < some.share < 0.6
    assert some.reasons == ("traffic is sampled: the rate of 50% of the flow records is unknown",)
    assert completeness(seen(replace(flows(), sampling_rate=np.zeros_like(rate)))).share < some.share
    both = completeness(seen(replace(flows(), sampling_rate=rate * 64)))
    assert both.reasons[0] == "traffic is sampled: 1 packet in 64"
    assert both.share < some.share


def test_lost_records_are_not():
    whole = flows()
    kept = whole.take(np.random.default_rng(0).random(len(whole)) > 0.1)
    share, reasons = completeness(seen(kept))
    assert share < 0.95
    assert "volumes that should be equal" in reasons[-1]


def test_where_steps_have_few_records_most_of_them_are_whole_and_yet_some_are_lost():
    """Build flows in which each rank sends one record per step to the next."""
    wire = Wire()
    for step in range(40):
        for rank in range(6):
            wire.send(rank, (rank + 1) % 6, 8_000_000, T0 + (200 * step + rank) * MS)
    whole = wire.flows()
    assert completeness(seen(whole)) == (1.0, ())
    share, reasons = completeness(seen(whole.take(np.random.default_rng(0).random(len(whole)) > 0.05)))
    assert share < 0.95
    assert "volumes that should be equal" in reasons[-1]


def test_evaluations_that_send_more_on_some_edges_lack_no_records():
    """A ring that turns both ways. Some steps contain an evaluation, in which only one of them sends."""
    wire = Wire()
    for step in range(20):
        for rank in range(6):
            for k in range(6 if step in (8, 15) else 2):
                wire.send(rank, (rank + 1) % 6, 4_000_000, T0 + (200 * step + 10 * k + rank) * MS)
            wire.send((rank + 1) % 6, rank, 8_000_000, T0 + (200 * step + 100 + rank) * MS)
    assert completeness(seen(wire.flows())) == (1.0, ())


def test_sums_over_many_steps_are_not():
    view = seen(flows())
    long = replace(view.flows, end_ns=view.flows.start_ns + int(5 * view.period))
    view = replace(view, flows=long)
    assert completeness(view).share <= 0.25


def test_records_that_are_sums_say_little_of_what_rests_between():
    view = seen(flows())
    long = view.flows.end_ns - view.flows.start_ns
    for part, least, most in ((1.0, 1.0, 1.0), (0.6, 1.0, 1.0), (0.1, 0.3, 0.6), (0.0, 1.0, 1.0)):  # 0 is unknown
        share, _ = completeness(replace(view, flows=replace(view.flows, busy_ns=(part * long).astype(np.int64))))
        assert least <= share <= most


@pytest.mark.parametrize("name", ["hang", "crash"])
def test_a_clear_stop_is_told_with_confidence(name):
    view = case(name)
    (claim,) = claims_of(view)
    sure = confidence(view, claim, completeness(view))
    assert sure >= 0.8
    assert confidence(view, replace(claim, score=1.0), completeness(view)) < 0.5


def test_of_two_suspects_each_has_half():
    view = case("slow NIC")
    (claim,) = claims_of(view)
    both = Isolation(("host5", "host6"), (), 1.0, ((("host5",), 0.5), (("host6",), 0.5)))
    assert named(view, replace(claim, isolate=both)) == 0.5
    assert named(view, replace(claim, isolate=Isolation())) == 1.0


def test_that_a_job_stands_still_is_sure_though_who_is_to_blame_is_not():
    view = case("hang")
    (claim,) = claims_of(view)
    both = Isolation((), (), 1.0, ((("host5",), 0.5), (("host6",), 0.5)))
    assert named(view, replace(claim, subject="job", ids=(claim.job,), isolate=both)) == 1.0


def test_layouts_with_as_many_stages_have_the_same_peers():
    view = case("nothing")
    layout = replace(view.parallelism.layout, confidence=0.3)
    others = tuple(Alternative(replace(layout, pp=pp, confidence=p), "") for pp, p in ((1, 0.2), (2, 0.4)))
    view = replace(view, parallelism=replace(view.parallelism, layout=layout, alternatives=others))
    assert peers_known(view) == pytest.approx(0.5)
