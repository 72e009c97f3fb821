from collectors.packets.headers import CNP
from collectors.packets.packet_kinds import (
    ACKNOWLEDGMENT,
    ANSWER,
    BEGINS,
    DATA,
    ENDS,
    MEANING,
    NAMED,
    NOTICE,
    OPCODES,
    OPENS,
    OTHER,
    RESENT,
    TRIMMED,
    UET,
    UNNUMBERED,
)


def test_opcodes_of_the_bth():
    assert MEANING[6] == DATA | BEGINS
    assert MEANING[10] == DATA | BEGINS | ENDS
    assert MEANING[13] == DATA | BEGINS | ANSWER
    assert (MEANING[12], MEANING[17], MEANING[CNP]) == (OTHER, ACKNOWLEDGMENT, NOTICE)


def test_what_ultra_ethernet_says_is_in_its_opcode():
    for flags in (0, RESENT, TRIMMED, UNNUMBERED, OPENS, RESENT | TRIMMED | OPENS):
        assert MEANING[UET | flags | NAMED | BEGINS | ANSWER] == NAMED | BEGINS | ANSWER
    assert UET | RESENT | TRIMMED | UNNUMBERED | OPENS | NAMED | BEGINS | ENDS | ANSWER < OPCODES == len(MEANING)
