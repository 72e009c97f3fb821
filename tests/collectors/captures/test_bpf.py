import shutil
import socket

import pytest

from collectors.captures import bpf
from collectors.packets import headers
from tests.collectors.builders import frames


def run(program, frame):
    """The plain twin of the kernel: how many octets of a frame a program keeps."""
    a = x = at = 0
    while True:
        code, yes, no, k = program[at]
        at += 1
        size = {0x28: 2, 0x30: 1, 0x48: 2, 0x50: 1}.get(code)
        if size:
            place = k + (x if code in (0x48, 0x50) else 0)
            if place + size > len(frame):
                return 0
            a = int.from_bytes(frame[place : place + size], "big")
        elif code == 0xB1:
            x = (frame[k] & 15) * 4
        elif code == 0x54:
            a &= k
        elif code == 0x06:
            return k
        else:
            at += yes if (a == k if code == 0x15 else a & k) else no


def roce(opcode, six=False):
    packet = frames.roce(opcode, bytes(16))
    return frames.ethernet(frames.ipv6(packet, 17), headers.IPV6) if six else frames.ethernet(frames.ipv4(packet, 17))


@pytest.mark.parametrize("six", [False, True])
def test_ends_of_messages_are_kept_and_middles_are_not(six):
    program = bpf.roce_ends(200)
    kept = {opcode for opcode in range(256) if run(program, roce(opcode, six)) == 200}
    left = {opcode for opcode in range(256) if opcode & 31 in (1, 7, 14, 17)} - {129}
    assert kept == set(range(256)) - left


def test_what_is_not_roce_is_left_out():
    program = bpf.roce_ends(200)
    others = [
        frames.ethernet(frames.ipv4(frames.tcp(b"x" * 50))),
        frames.ethernet(frames.ipv4(frames.udp(bytes(30)), 17)),
        frames.ethernet(frames.ipv4(frames.roce(10), 17, fragment=0x2001)),
        frames.ethernet(bytes(60), 0x0806),
        frames.ethernet(frames.ipv6(frames.tcp(b"x" * 50)), headers.IPV6),
        b"",
        bytes(13),
    ]
    assert [run(program, frame) for frame in others] == [0] * len(others)
    assert run(program, frames.ethernet(frames.ipv4(frames.roce(10), 17, options=bytes(8)))) == 200


def test_gre():
    program = bpf.gre(300)
    assert run(program, frames.ethernet(frames.ipv4(bytes(50), 47))) == 300
    assert run(program, frames.ethernet(frames.ipv6(bytes(50), 47), headers.IPV6)) == 300
    assert run(program, frames.ethernet(frames.ipv4(frames.udp(), 17))) == 0
    assert run(program, frames.ethernet(bytes(50), 0x0806)) == 0
    assert run(bpf.keep_all(99), b"") == 99


@pytest.mark.skipif(not shutil.which("tcpdump"), reason="tcpdump is not installed")
def test_expressions_are_compiled_by_tcpdump():
    program = bpf.compile_filter("udp dst port 4791", 128)
    assert run(program, roce(7)) == 128
    assert run(program, frames.ethernet(frames.ipv4(frames.tcp(b"x" * 50)))) == 0
    with pytest.raises(ValueError, match="filter 'udp dst prt 5'"):
        bpf.compile_filter("udp dst prt 5", 128)
    with pytest.raises(ValueError, match="filter '-w/tmp/x'"):
        bpf.compile_filter("-w/tmp/x", 128)


def test_without_tcpdump(monkeypatch):
    monkeypatch.setenv("PATH", "/no/such")
    with pytest.raises(ValueError, match="needs tcpdump"):
        bpf.compile_filter("udp", 128)


def test_instructions_are_eight_octets():
    assert bpf.pack_program([(6, 1, 2, 3)]) == socket.htons(0x0600).to_bytes(2, "little") + b"\1\2\3\0\0\0"
