from collectors import packet
from collectors.unpacking import BAD, FRAGMENT, KEPT, NESTED, NOT_IP, NOT_TCP_OR_UDP, ROW, TRUNCATED, UNKNOWN


def test_a_row_fills_a_line_of_the_cache():
    assert ROW.itemsize == 64


def test_verdicts_are_in_the_order_of_the_reasons():
    reasons = {NOT_IP: "not ip", FRAGMENT: "fragment", TRUNCATED: "truncated header", BAD: "bad header"}
    reasons |= {NOT_TCP_OR_UDP: "not tcp or udp", NESTED: "tunnels in tunnels"}
    assert [reasons[verdict] for verdict in range(KEPT + 1, UNKNOWN)] == list(packet.REASONS)
