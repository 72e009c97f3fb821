"""A decoder so plain that its answers are known, children that run commands, and datagrams for them."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter

from collectors.columns.record import Flows
from collectors.exports.evidence import Evidence

COLLECT = (sys.executable, "-c", "from collectors.cli.commands import main; main()")


class Lengths:
    """A record per datagram: its length in octets. It cannot read what begins with `bad`, and fails at `fault`."""

    def __init__(self):
        self.tally, self.batches = Counter(), []

    def decode(self, datagrams):
        d = datagrams
        begins = [bytes(d.data[at : at + min(n, 5)]) for at, n in zip(d.offset.tolist(), d.length.tolist(), strict=True)]
        if b"fault" in begins:
            raise RuntimeError("a fault")
        good = [not begin.startswith(b"bad") for begin in begins]
        self.tally["datagrams received"] += len(d)
        self.tally["datagrams decoded"] += sum(good)
        self.tally["datagrams error: bad"] += len(d) - sum(good)
        self.batches.append(len(d))
        columns = {"start_ns": d.received_ns, "end_ns": d.received_ns, "src": d.sender, "dst": d.sender, "exporter": d.sender}
        return Flows.build(columns | {"octets": d.length}, endpoints=d.senders, exporters=d.senders).take(good)

    def take_evidence(self):
        return Evidence()


class Kept(list):
    """A sink that keeps what it is given."""

    def write(self, flows):
        self.append(flows)

    def tick(self, now_ns):
        pass

    def close(self):
        self.closed = True

    def counts(self):
        return iter(())


def send(port, payloads, *, host="127.0.0.1", sender="127.0.0.1"):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.bind((sender, 0))
        for payload in payloads:
            client.sendto(payload, (host, port))


def until(true, *, seconds=180, every=0.01, rarest=0.25):
    """Wait for something to be true; ask again after so many seconds, then more and more rarely: to ask has its cost."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(every)
        every = min(1.1 * every, max(every, rarest))


class Child:
    """A running command: lines of its standard error as they come, signals, and what it left."""

    def __init__(self, *arguments, command=COLLECT, stdout=subprocess.PIPE):
        env = os.environ | {"PYTHONPATH": os.getcwd()}
        self.process = subprocess.Popen([*command, *arguments], stdout=stdout, stderr=subprocess.PIPE, env=env)
        self.said, self.wrote = [], bytearray()
        self._readers = [threading.Thread(target=self._read_errors)]
        if stdout == subprocess.PIPE:
            self._readers.append(threading.Thread(target=self._read_output))
        for reader in self._readers:
            reader.start()

    def _read_errors(self):
        for line in self.process.stderr:
            self.said.append(line.decode().rstrip("\n"))

    def _read_output(self):
        while octets := self.process.stdout.read1():
            self.wrote += octets

    def expect(self, pattern):
        """The first match in what it said, once it is there."""

        def found():
            return next(filter(None, (re.search(pattern, line) for line in list(self.said))), None)

        until(lambda: found() or self.process.poll() is not None)
        assert found(), (pattern, self.said)
        return found()

    def end(self, number=signal.SIGTERM):
        """Its exit code after a signal (none: by itself)."""
        if number is not None:
            self.process.send_signal(number)
        code = self.process.wait(60)
        for reader in self._readers:
            reader.join()
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        for reader in self._readers:
            reader.join()
        for file in filter(None, (self.process.stdout, self.process.stderr)):
            file.close()
