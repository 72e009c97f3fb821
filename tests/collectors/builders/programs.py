"""What other programs make of packets; a test that wants one of them is skipped where it is not there."""

import shutil
import socket
import subprocess

import pytest

from collectors.captures import pcap
from tests.collectors.builders import frames

T = 1_795_214_542_000_000_000
STEP = 10_000_000


def traffic(path):
    """Three connections, both directions: writes their packets, gives the time of the last and the sum of IP octets."""
    packets = []
    for i in range(60):
        ports = (1000 + i // 2 % 3, 2000)
        here, there = ("10.0.0.1", "10.0.0.2") if i % 2 else ("10.0.0.2", "10.0.0.1")
        segment = frames.tcp(bytes(100 + i), ports=ports if i % 2 else ports[::-1])
        frame = frames.ethernet(frames.ipv4(segment, src=here, dst=there))
        packets.append((T + i * STEP, frame, len(frame)))
    pcap.write(path, packets)
    return sum(len(frame) - 14 for _, frame, _ in packets)


def run(*command, folder=None):
    """What a program writes on standard output, in the time zone UTC."""
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not there")
    environment = {"TZ": "UTC", "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def softflowd(folder, capture, version):
    """The datagrams that softflowd exports of a capture in a folder."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as collector:
        collector.bind(("127.0.0.1", 0))
        target = f"127.0.0.1:{collector.getsockname()[1]}"
        run("softflowd", "-r", capture, "-n", target, "-v", str(version), "-d", "-c", "ctl", "-p", "pid", folder=folder)
        collector.setblocking(False)  # it has ended, and what it sent over loopback is there
        datagrams = []
        while True:
            try:
                datagrams.append(collector.recv(65_535))
            except BlockingIOError:
                return datagrams


def nfcapd_file(folder, capture):
    """The file that nfpcapd makes of a capture."""
    run("nfpcapd", "-r", str(capture), "-w", str(folder), "-e", "60,60")
    (file,) = folder.glob("nfcapd.*")
    return str(file)
