from collections import Counter

import numpy as np

from collectors.bursts import RULES, Pace
from collectors.lanes import Lanes
from collectors.pieces import Pieces
from collectors.record import ACK, PSH
from collectors.sightings import Seen
from tests.collectors.packets import packets, tcp


def joined(rows):
    pieces, tally = Pieces(RULES), Counter()
    lanes = Lanes(pieces, tally, small=256, idle_ns=10**12, active_ns=None, pace=Pace())
    zero = np.zeros(len(rows), np.int32)
    lanes.add(Seen(packets(rows), zero, zero.astype(np.int64)))
    lanes.finish()
    return pieces.joined(), tally


def test_the_first_segment_of_a_flow_is_new_whatever_its_number():
    assert joined([tcp(0, 1000, 2**32 - 1)])[0]["octets"].tolist() == [1000]


def test_a_keep_alive_is_a_retransmission():
    records, _ = joined([tcp(0, 48, 100), tcp(10, 1, 147)])
    assert sorted(zip(records["octets"].tolist(), records["retransmits"].tolist(), strict=True)) == [(0, 1), (48, 0)]


def test_a_header_after_a_pushed_segment_is_control_and_one_after_an_unpushed_one_is_its_rest():
    for flags, lengths in ((ACK | PSH, [48, 1448]), (ACK, [1496])):
        assert sorted(joined([tcp(0, 1448, 0, flags=flags), tcp(5, 48, 1448)])[0]["octets"].tolist()) == lengths


def test_what_carries_nothing_is_tallied():
    _, tally = joined([tcp(0, 0, flags=ACK), tcp(0, 0, flags=0, protocol=1)])
    assert (tally["acknowledgment only"], tally["no payload"]) == (1, 1)
