import numpy as np

from collectors.columns.record import Flows
from collectors.exports.evidence import Counters
from prism.exporters.export_survey import S
from prism.exporters.live_survey import MAX_EXPORTERS, SPAN_NS, Survey


def records(name, at_ns, many=3):
    columns = {
        "start_ns": [at_ns] * many,
        "end_ns": [at_ns + 1] * many,
        "octets": [5] * many,
        "src": [0] * many,
        "dst": [0] * many,
    }
    return Flows.build(columns, endpoints=("10.0.0.1",), exporters=(name,))


def counters(at_ns, octets, interface=49):
    rows = {name: [5] for name in Counters.NUMBERS} if hasattr(Counters, "NUMBERS") else {}
    columns = {column.name: np.array([column.default]) for column in Counters.COLUMNS} | rows
    columns |= {"time_ns": np.array([at_ns]), "exporter": np.array([0], np.int32), "interface": np.array([interface])}
    columns |= {
        "speed": np.array([400 * 10**9]),
        "up": np.array([1]),
        "in_octets": np.array([octets]),
        "out_octets": np.array([-1]),
    }
    columns |= {"in_errors": np.array([2]), "out_discards": np.array([7])}
    return Counters(**columns, exporters=("leaf0",), endpoints=())


def test_what_was_sent_lately_is_known_and_the_rest_forgotten():
    survey = Survey()
    survey.add(records("leaf0", S), S)
    survey.add(records("leaf0", 2 * S), 2 * S)
    assert survey.sent()["leaf0"].records == 6
    survey.add(records("leaf1", SPAN_NS + 3 * S), SPAN_NS + 3 * S)
    assert set(survey.sent()) == {"leaf0", "leaf1"}
    survey.add(records("leaf1", 2 * SPAN_NS + 9 * S), 2 * SPAN_NS + 9 * S)
    assert set(survey.sent()) == {"leaf1"}


def test_interfaces_have_rates_between_two_counters():
    survey = Survey()
    survey.count([counters(S, 0)])
    survey.count([counters(11 * S, 10 * 50 * 10**9 // 8)])
    (port,) = survey.ports()["leaf0"]
    assert (port.interface, port.up, port.in_gbit_s, port.out_gbit_s) == (49, True, 50.0, None)
    assert (port.errors, port.discards) == (2, 7)
    survey.count([counters(21 * S, 5)])  # it restarted
    assert survey.ports()["leaf0"][0].in_gbit_s is None


def test_a_crowd_of_senders_takes_no_more_memory():
    survey = Survey()
    for i in range(MAX_EXPORTERS + 50):
        survey.add(records(f"x{i}", S, many=1), S)
    assert len(survey.sent()) == MAX_EXPORTERS
