from prism.incidents._first_silence import Silence, find_first_silence, most_confident
from tests.prism.incidents.made import FIN, NAMES, flows, job, ring


def test_the_rank_whose_last_payload_is_the_earliest():
    quiet = find_first_silence(ring(stops=2, ahead=30), job())
    assert quiet.first == NAMES[2]
    assert quiet.margin_ns > 10_000_000
    assert quiet.confidence > 0.9
    assert most_confident([quiet]) is quiet


def test_an_order_as_in_healthy_steps_says_nothing():
    quiet = find_first_silence(ring(stops=0, ahead=0), job())
    assert quiet.confidence < 0.5


def test_what_is_sent_again_without_an_answer():
    more = [{"src": 0, "dst": 1, "retransmits": 9, "octets": 10}]
    quiet = find_first_silence(ring(stops=1, more=more), job())
    assert quiet.unanswered == (NAMES[1],)
    more += [{"src": 3, "dst": 2, "retransmits": 8, "octets": 10}]
    assert find_first_silence(ring(stops=1, more=more), job()).unanswered == ()


def test_who_closed_first():
    quiet = find_first_silence(ring(more=[{"src": 3, "dst": 0, "tcp_flags": FIN}]), job())
    assert quiet.closed == (NAMES[3],)


def test_no_traffic():
    assert find_first_silence(flows([]), job()) == Silence((), 0, 0.0, (), ())
    assert most_confident([]) is None
