from collectors.packets import protocols
from collectors.packets.protocols import (
    BEYOND,
    NOT_IP,
    NOT_TCP_OR_UDP,
    OTHER_PROTOCOL,
    OTHER_TYPE,
    REASONS,
    is_named,
    reason_of,
)


def test_verdicts_have_the_reasons_in_their_order():
    assert [reason_of(verdict) for verdict in range(NOT_IP, BEYOND + 1)] == list(REASONS)
    assert reason_of(NOT_TCP_OR_UDP) == "not TCP or UDP"


def test_what_is_known_is_named_and_the_rest_is_numbered():
    assert reason_of(OTHER_TYPE + 0x8847) == "not IP: MPLS (EtherType 0x8847)"
    assert reason_of(OTHER_TYPE + 0x1234) == "not IP: EtherType 0x1234"
    assert reason_of(OTHER_TYPE) == f"not IP: {protocols.LLC_NAME}"
    assert reason_of(OTHER_PROTOCOL + 1) == "not TCP or UDP: ICMP (protocol 1)"
    assert reason_of(OTHER_PROTOCOL + 200) == "not TCP or UDP: protocol 200"


def test_few_verdicts_have_names():
    assert sum(is_named(verdict) for verdict in range(protocols.VERDICTS)) < 320
    assert not is_named(OTHER_TYPE + 0x1234)
    assert is_named(OTHER_TYPE + 0x8847)
    assert is_named(BEYOND)
