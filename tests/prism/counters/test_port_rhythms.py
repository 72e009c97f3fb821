import numpy as np

from prism.counters._port_rhythms import port_groups, standardised
from prism.counters.counter_rates import Rates


def made(rng, groups, bins=2000):
    rows, ports = [], []
    for number, size in enumerate(groups):
        beat = (np.cumsum(rng.normal(1 / (7 + 3 * number), 0.01, bins)) % 1 < 0.3) * 1e6
        for k in range(size):
            rows.append(beat + rng.exponential(1e4, bins))
            ports.append((f"s{k % 2}", f"{number}-{k}"))
    return Rates(tuple(ports), 0, 10**9, np.array(rows, np.float32), np.zeros(len(rows)))


def test_ports_of_two_jobs_on_two_switches():
    own = made(np.random.default_rng(1), [6, 4])
    found = port_groups(own)
    jobs = {}
    for group, job in zip(found.groups, found.job, strict=True):
        jobs.setdefault(int(job), set()).update(own.ports[i][1][0] for i in group)
    assert sorted(map(sorted, jobs.values())) == [["0"], ["1"]]


def test_order_and_names_do_not_matter():
    own = made(np.random.default_rng(2), [4, 4])
    turned = Rates(own.ports[::-1], 0, 10**9, own.octets[::-1], own.ingress)
    sizes = [sorted(len(group) for group in port_groups(one).groups) for one in (own, turned)]
    assert sizes[0] == sizes[1]


def test_idle_and_short_series():
    assert port_groups(Rates((), 0, 1, np.zeros((0, 0), np.float32), np.zeros(0))).groups == ()
    flat = standardised(np.ones((2, 50), np.float32))
    assert (flat == 0).all()
