import numpy as np

from collectors.columns.record import Flows
from prism.exporters.export_survey import S, Sent, active_timeout, merge_surveys, survey


def flows(length_ns, *, many=100, **more):
    start = np.arange(many) * S // 10
    columns = {"start_ns": start, "end_ns": start + length_ns, "octets": [1000] * many, "src": [0] * many, "dst": [1] * many}
    return Flows.build(columns | more, endpoints=("10.0.0.1", "10.0.0.2"), exporters=("leaf0", "leaf1"))


def test_what_an_exporter_sends_is_seen():
    made = flows(1000, exporter=[0] * 60 + [1] * 40, sampling_rate=[64] * 60 + [1] * 40, dst_qp=[7] * 100)
    found = survey(made, arrived_ns=20 * S)
    assert (found["leaf0"].records, found["leaf1"].records) == (60, 40)
    assert (found["leaf0"].rates, found["leaf1"].rates) == ({64: 60}, {1: 40})
    assert (found["leaf0"].roce, found["leaf0"].queues, found["leaf0"].pairs) == (60, 60, 1)
    assert found["leaf0"].offset_ns == 20 * S - int(made.end_ns[59])
    assert 9 < found["leaf0"].rate < 11
    assert survey(made)["leaf0"].offset_ns is None
    assert survey(Flows.build({"start_ns": []}, endpoints=())) == {}


def test_an_active_timeout_is_where_many_records_are_equally_long():
    rng = np.random.default_rng(1)
    assert active_timeout(flows(60 * S + rng.integers(0, S, 100))) // S == 60
    assert active_timeout(flows(rng.integers(S // 100, S // 2, 100))) == 0
    spread = active_timeout(flows(rng.integers(S, 100 * S, 100)))
    assert spread == 0 or spread > 80 * S
    assert active_timeout(flows(60 * S, many=5)) == 0


def test_surveys_are_put_together():
    made = survey(flows(1000, sampling_rate=[64] * 100), 20 * S)["leaf0"]
    other = survey(flows(1000, sampling_rate=[1] * 100), 19 * S)["leaf0"]
    both = merge_surveys(made, other)
    assert (both.records, both.rates, both.offset_ns) == (200, {64: 100, 1: 100}, min(made.offset_ns, other.offset_ns))
    assert merge_surveys(Sent(), made) is made
