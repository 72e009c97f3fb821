from dataclasses import replace

from prism.incidents.incident import join_incident
from prism.logs.parsing.log_scanner import Kinds, scan
from prism.logs.patterns.log_diagnosis import LogDiagnosis, diagnose
from prism.model import Diagnosis, Finding, Severity, Source
from tests.prism.incidents.made import MS, NAMES, flows, job, ring

LATE = "RuntimeError: [x/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 6000ms for recv operation to complete\n"
SEEN = Diagnosis(Source((), 0, 0, {}, 0, 1), (job(),), ())


def said(*texts):
    kinds = Kinds()
    return diagnose([scan(f"rank{i}.log", [text.encode()], kinds, rank=i) for i, text in enumerate(texts)])


def test_every_rank_prints_the_time_out_and_flows_say_who():
    own = join_incident(said(LATE, LATE, LATE, LATE), SEEN, ring(stops=2, ahead=30), None)
    assert own.endpoints == (NAMES[2],)
    assert own.node == "rank 2"
    assert own.cause == "peer"


def test_both_agree_and_the_network_was_at_fault():
    more = [{"src": 0, "dst": 1, "retransmits": 9, "octets": 10}]
    own = join_incident(said(LATE, "step 1\n", LATE, LATE), SEEN, ring(stops=1, ahead=30, more=more), None)
    assert own.agrees
    assert own.cause == "network"
    assert own.confidence > 0.95
    assert own.assumed


def test_a_root_in_the_logs_outweighs_the_order_of_silence():
    own = join_incident(said("KeyError: 'x'\n", LATE, LATE, LATE), SEEN, ring(stops=3, ahead=30), None)
    assert own.endpoints == (NAMES[0],)
    assert own.agrees is False
    assert own.confidence < 0.8


def test_no_job_and_no_failure():
    empty = replace(SEEN, jobs=())
    assert join_incident(said("KeyError: 'x'\n"), empty, ring(), None).node == "rank 0"
    assert not join_incident(said("step 1\n"), SEEN, ring(), None).failed


def test_after_a_hang_that_ended_the_silence_before_it_counts():
    rows = [
        {"start_ns": at, "end_ns": at + 5 * MS, "src": rank, "dst": (rank + 1) % 4, "octets": 1000, "packets": 1}
        for step in range(6)
        for rank in range(4)
        for at in [(step * 100 + 80 + rank - (20 if rank == 1 and step == 5 else 0)) * MS]
    ]
    later = [{**row, "start_ns": row["start_ns"] + 5000 * MS, "end_ns": row["end_ns"] + 5000 * MS} for row in rows[:4][::-1]]
    hang = Finding("hang", "hang", "j", Severity.CRITICAL, "endpoint", (NAMES[1],), 590 * MS, 5070 * MS, 1, 9, "")
    whole = job()
    whole = replace(whole, job=replace(whole.job, end_ns=5200 * MS))
    said = LogDiagnosis(False)
    own = join_incident(said, Diagnosis(Source((), 0, 0, {}, 0, 0), (whole,), (hang,)), flows([*rows, *later]), None)
    assert own.silence.first == NAMES[1]
