import pytest

from tests.prism.evidence.made import Wire, addresses
from tests.prism.layout.made import asked


def sizes(wire, per_host):
    _, found = asked(wire, per_host)
    return {kind: size for kind, size in found[0].best.layout.items() if size > 1}


def test_ranks_dealt_out_in_order_lie_across_hosts():
    """Three stages, two replicas, two GPUs in a host: ranks 0 1 | 2 3 | 4 5, the second host holds parts of both replicas."""
    wire = Wire(addresses(3, 2))
    for step in range(10):
        at = step * 500
        for first in (0, 3):
            for micro in range(4):
                for stage in range(2):
                    a, b = first + stage, first + stage + 1
                    if a // 2 != b // 2:
                        wire.send(a, b, at + 20 * micro + 15 * stage, 2_000_000)
                        wire.send(b, a, at + 160 + 20 * micro + 15 * (2 - stage), 2_000_000)
        for stage in range(3):
            wire.ring([stage, stage + 3], at + 400 - 20 * stage, 30_000_000)
    assert sizes(wire, 2) == {"dp": 2, "pp": 3}


def halving(octets, levels=2, per_host=4, steps=10):
    wire = Wire(addresses(2**levels, per_host))
    for step in range(steps):
        for rail in range(per_host):
            for level in range(levels):
                for host in range(2**levels):
                    src, dst = host * per_host + rail, (host ^ (1 << level)) * per_host + rail
                    for k in range(2):
                        wire.send(src, dst, step * 300 + 20 * level + 5 * k, octets >> level, long=2.0)
    return wire


def test_halving_over_hosts_may_go_on_inside_them():
    _, found = asked(halving(8_000_000), 4)
    told = [{kind: size for kind, size in one.best.layout.items() if size > 1} for one in found[:4]]
    assert {"dp": 16} in told
    assert {"dp": 4, "tp": 4} in told
    assert found[0].probability < 0.9


@pytest.mark.parametrize("often", [1, 8])
def test_a_part_that_exchanges_often_beside_the_whole_is_no_reduction_of_its_own(often):
    wire = Wire(addresses(8))
    for step in range(10):
        for layer in range(often):
            for a in range(0, 8, 2):
                wire.send(a, a + 1, step * 400 + 30 * layer, 1_000_000)
                wire.send(a + 1, a, step * 400 + 30 * layer, 1_000_000)
        wire.ring(list(range(8)), step * 400 + 350, 20_000_000)
    _, found = asked(wire)
    inner = [one for one in found if one.best.layout["cp"] == 2 or one.best.layout["ep"] == 2]
    assert (found[0] in inner) == (often > 1)
