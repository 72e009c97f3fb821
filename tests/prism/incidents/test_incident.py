from dataclasses import replace

from prism.incidents.incident import join
from prism.logs.diagnosis import diagnose
from prism.logs.scanning import Kinds, scan
from prism.model import Diagnosis, Source
from tests.prism.incidents.made import NAMES, job, ring

LATE = "RuntimeError: [x/gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 6000ms for recv operation to complete\n"
SEEN = Diagnosis(Source((), 0, 0, {}, 0, 1), (job(),), ())


def said(*texts):
    kinds = Kinds()
    return diagnose([scan(f"rank{i}.log", [text.encode()], kinds, rank=i) for i, text in enumerate(texts)])


def test_every_rank_prints_the_time_out_and_flows_say_who():
    own = join(said(LATE, LATE, LATE, LATE), SEEN, ring(stops=2, ahead=30), None)
    assert own.endpoints == (NAMES[2],)
    assert own.node == "rank 2"
    assert own.cause == "peer"


def test_both_agree_and_the_network_was_at_fault():
    more = [{"src": 0, "dst": 1, "retransmits": 9, "octets": 10}]
    own = join(said(LATE, "step 1\n", LATE, LATE), SEEN, ring(stops=1, ahead=30, more=more), None)
    assert own.agrees
    assert own.cause == "network"
    assert own.confidence > 0.95
    assert own.assumed


def test_a_root_in_the_logs_outweighs_the_order_of_silence():
    own = join(said("KeyError: 'x'\n", LATE, LATE, LATE), SEEN, ring(stops=3, ahead=30), None)
    assert own.endpoints == (NAMES[0],)
    assert own.agrees is False
    assert own.confidence < 0.8


def test_no_job_and_no_failure():
    empty = replace(SEEN, jobs=())
    assert join(said("KeyError: 'x'\n"), empty, ring(), None).node == "rank 0"
    assert not join(said("step 1\n"), SEEN, ring(), None).failed
