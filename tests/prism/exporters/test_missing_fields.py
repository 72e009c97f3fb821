from dataclasses import replace

from prism.exporters._missing_fields import missing_fields
from prism.exporters.export_survey import S, Sent

GOOD = Sent(1000, 10**6, S, 100 * S, 0, S // 100, {1: 1000}, 900, 900, 900, 30)


def what(sent, **more):
    return [one.what for one in missing_fields(sent, **more)]


def test_a_good_exporter_lacks_nothing():
    assert what(GOOD, now_ns=101 * S) == []


def test_each_lack_is_reported_with_lines_to_configure():
    assert what(replace(GOOD, rates={4096: 1000})) == ["1 in 4,096 packets is sampled"]
    assert what(replace(GOOD, rates={0: 1000})) == ["the sampling rate is not exported"]
    assert what(replace(GOOD, timeout_ns=60 * S)) == ["records last 60 s: an active timeout cuts them"]
    assert what(replace(GOOD, offset_ns=-2 * S)) == ["its clock is 2 s ahead"]
    assert what(GOOD, lost=500) == ["500 datagrams or records were lost on the way"]
    assert what(replace(GOOD, queues=0)) == ["RoCE without queue pairs"]
    assert what(replace(GOOD, octets=0)) == ["records have no octets"]
    assert what(GOOD, now_ns=400 * S) == ["nothing was received for 300 s"]
    for one in missing_fields(replace(GOOD, rates={4096: 1}, timeout_ns=60 * S, queues=0), lost=500):
        assert one.analysis
        assert all(line for lines in one.lines.values() for line in lines.splitlines())
        assert one.to_json()["lines"] == dict(one.lines)
