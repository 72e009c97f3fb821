import numpy as np
import pytest

from prism.jobs import recognize, rows_of
from prism.layout.labels.parallelism import infer
from tests.prism.traffic import T0, Wire, address, placed, ring_allreduce, training


def inferred(wire, topology=None):
    flows = wire.flows()
    job = recognize(flows, topology)[0]
    own = flows.take(rows_of(flows, job))
    return infer(own, job, topology), own


def sets(groups, kind):
    return sorted(sorted(g.members) for g in groups if g.kind == kind)


def names(*groups):
    return sorted(sorted(map(address, own)) for own in groups)


@pytest.mark.parametrize(
    ("dp", "pp", "tcp"),
    [
        (2, 1, False),
        (8, 1, False),
        (2, 1, True),
        (8, 1, True),
        (4, 2, False),
        (2, 4, False),
        (3, 3, False),
        (1, 4, False),
        (4, 2, True),
        (2, 4, True),
        (3, 3, True),
    ],
)
def test_layout_groups_and_stages(dp, pp, tcp):
    found, _ = inferred(training(dp=dp, pp=pp, wire=Wire(tcp=tcp)), placed(dp * pp))
    assert (found.layout.dp, found.layout.pp, found.layout.tp, found.layout.ep, found.layout.cp) == (dp, pp, 1, 1, 1)
    assert found.layout.confidence > 0.9
    assert (0 <= found.lockstep <= 1, found.lockstep > 0.5, found.alternatives) == (True, dp > 2, ())
    assert sets(found.groups, "dp") == names(*(range(s * dp, s * dp + dp) for s in range(pp) if dp > 1))
    chains = [g.members for g in found.groups if g.kind == "pp"]
    assert sorted(chains) == sorted(tuple(address(s * dp + r) for s in range(pp)) for r in range(dp) if pp > 1)
    if pp > 1:
        assert found.stages == {address(s * dp + r): s for s in range(pp) for r in range(dp)}


def test_pairs_and_streams_say_what_each_record_was_for():
    found, own = inferred(training(dp=4, pp=2))
    kinds = {(p.src, p.dst): (p.kind, p.octets) for p in found.pairs}
    for (src, dst), (kind, octets) in kinds.items():
        a, b = own.endpoints.index(src), own.endpoints.index(dst)
        assert kind == ("pp" if abs(a - b) == 4 else "dp")
        assert octets == own.octets[(own.src == a) & (own.dst == b)].sum()
    assert len(kinds) == 2 * 4 + 2 * 4
    rows = np.concatenate([s.rows for s in found.streams])
    assert sorted(rows.tolist()) == np.flatnonzero(~own.control()).tolist()


def test_tensor_parallelism_inside_hosts_is_what_the_placement_explains():
    """Two endpoints per host, a ring on each rail."""
    wire, at = Wire(), T0
    for _ in range(14):
        for own in (range(0, 8, 2), range(1, 8, 2)):
            ready = dict.fromkeys(own, at + 50_000_000)
            end = ring_allreduce(wire, list(own), 40_000_000, ready, lambda _a, _b: 10.0)
        at = max(end.values())
    found, _ = inferred(wire, placed(8, nics=2))
    assert (found.layout.dp, found.layout.pp, found.layout.tp) == (4, 1, 2)
    assert sets(found.groups, "tp") == names(*([2 * h, 2 * h + 1] for h in range(4)))
    assert {g.evidence for g in found.groups if g.kind == "tp"} == {"placement"}
    assert {g.evidence for g in found.groups if g.kind == "dp"} == {"traffic"}


def test_tensor_parallelism_across_hosts_reduces_often_across_the_replicas():
    wire, free = Wire(), dict.fromkeys(range(8), T0)
    speed = lambda _a, _b: 10.0  # noqa: E731
    for _ in range(14):
        for own in ([2 * r, 2 * r + 1] for r in range(4)):
            for _ in range(12):
                ready = dict.fromkeys(own, max(free[m] for m in own) + 4_000_000)
                free |= ring_allreduce(wire, own, 2_000_000, ready, speed)
        for own in (range(0, 8, 2), range(1, 8, 2)):
            free |= ring_allreduce(wire, list(own), 40_000_000, {m: free[m] for m in own}, speed)
    found, _ = inferred(wire, placed(8))
    assert (found.layout.dp, found.layout.pp, found.layout.tp) == (4, 1, 2)
    assert sets(found.groups, "tp") == names(*([2 * r, 2 * r + 1] for r in range(4)))
    assert {g.evidence for g in found.groups} == {"traffic"}


def test_a_stage_less_is_said_with_doubt():
    """A replica whose pipeline was not seen: the groups cannot all be of one size."""
    wire = training(dp=4, pp=2)
    wire.rows = [row for row in wire.rows if 7 not in (row["src"], row["dst"])]
    found, _ = inferred(wire, placed(8))
    assert found.layout.confidence < 0.8
