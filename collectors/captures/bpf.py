"""Build classic BPF programs: how much of each frame to keep, and a filter that drops the middle packets of RoCEv2 messages.

Instructions are those of linux/filter.h: (code, jump if true, jump if false, constant).
"""

from __future__ import annotations

import re
import struct
import subprocess
from collections.abc import Sequence

from collectors.columns.record import ROCE_PORT, UDP
from collectors.packets.headers import GRE

Instruction = tuple[int, int, int, int]

_LOAD_SHORT, _LOAD_OCTET, _LOAD_SHORT_AT, _LOAD_OCTET_AT, _IP_HEADER = 0x28, 0x30, 0x48, 0x50, 0xB1
_EQUAL, _ANY_BIT, _AND, _RETURN = 0x15, 0x45, 0x54, 0x06
_MIDDLES, _ACKNOWLEDGE, _CNP = (1, 7, 14), 17, 129  # BTH opcodes, IBTA volume 1 table 38; all but CNP without transport bits


def keep_all(snaplen: int) -> list[Instruction]:
    """Keep the first `snaplen` octets of every frame."""
    return [(_RETURN, 0, 0, snaplen)]


def gre(snaplen: int) -> list[Instruction]:
    """Keep GRE over IPv4 or IPv6 (no extension headers) in Ethernet: packets mirrored by ERSPAN."""
    program: list[tuple[int, str, str, int] | str] = [
        (_LOAD_SHORT, "", "", 12),
        (_EQUAL, "ipv4", "", 0x0800),
        (_EQUAL, "", "drop", 0x86DD),
        (_LOAD_OCTET, "", "", 20),
        (_EQUAL, "keep", "drop", GRE),
        "ipv4",
        (_LOAD_OCTET, "", "", 23),
        (_EQUAL, "keep", "drop", GRE),
        "keep",
        (_RETURN, "", "", snaplen),
        "drop",
        (_RETURN, "", "", 0),
    ]
    return _assembled(program)


def roce_ends(snaplen: int) -> list[Instruction]:
    """Keep RoCEv2 without middle packets of messages and plain ACKs.

    In untagged Ethernet, or with a tag that the kernel strips; IPv6 without extension headers. First, Last and Only packets
    show start, end and length of a message.
    """
    program: list[tuple[int, str, str, int] | str] = [
        (_LOAD_SHORT, "", "", 12),
        (_EQUAL, "ipv4", "", 0x0800),
        (_EQUAL, "", "drop", 0x86DD),
        (_LOAD_OCTET, "", "", 20),
        (_EQUAL, "", "drop", UDP),
        (_LOAD_SHORT, "", "", 56),
        (_EQUAL, "", "drop", ROCE_PORT),
        (_LOAD_OCTET, "", "", 62),
        (_EQUAL, "keep", "opcode", _CNP),
        "ipv4",
        (_LOAD_OCTET, "", "", 23),
        (_EQUAL, "", "drop", UDP),
        (_LOAD_SHORT, "", "", 20),
        (_ANY_BIT, "drop", "", 0x1FFF),
        (_IP_HEADER, "", "", 14),
        (_LOAD_SHORT_AT, "", "", 16),
        (_EQUAL, "", "drop", ROCE_PORT),
        (_LOAD_OCTET_AT, "", "", 22),
        (_EQUAL, "keep", "", _CNP),
        "opcode",
        (_AND, "", "", 0x1F),
        *[(_EQUAL, "drop", "", operation) for operation in (*_MIDDLES, _ACKNOWLEDGE)],
        "keep",
        (_RETURN, "", "", snaplen),
        "drop",
        (_RETURN, "", "", 0),
    ]
    return _assembled(program)


def _assembled(program: Sequence[tuple[int, str, str, int] | str]) -> list[Instruction]:
    """Resolve labels to distances; an empty label is the next instruction."""
    place: dict[str, int] = {}
    at = 0
    for line in program:
        if isinstance(line, str):
            place[line] = at
        else:
            at += 1
    out: list[Instruction] = []
    for line in program:
        if not isinstance(line, str):
            code, yes, no, constant = line
            here = len(out) + 1
            out.append((code, place[yes] - here if yes else 0, place[no] - here if no else 0, constant))
    return out


def compile_filter(expression: str, snaplen: int) -> list[Instruction]:
    """Compile a filter in the language of pcap-filter(7), for Ethernet, by tcpdump. Raises ValueError."""
    command = ["tcpdump", "-y", "EN10MB", "-s", str(snaplen), "-ddd", "--", expression]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    except FileNotFoundError:
        raise ValueError("--filter needs tcpdump, which is not installed; install it, or use --roce-ends") from None
    if done.returncode:
        complaint = done.stderr.strip().splitlines()
        raise ValueError(
            f"--filter {expression!r}: {complaint[-1] if complaint else 'tcpdump refuses it'}; see man pcap-filter"
        )
    rows = [[int(number) for number in re.findall(r"\d+", line)] for line in done.stdout.splitlines()[1:]]
    return [(code, yes, no, constant) for code, yes, no, constant in rows]


def pack_program(program: Sequence[Instruction]) -> bytes:
    """Pack the instructions for the kernel (struct sock_filter)."""
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in program)
