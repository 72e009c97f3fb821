"""Every decoder of the collectors against damaged input: nothing but DecodeError escapes, in linear time and bounded memory.

A bounded run is part of the tests (`test_fuzz.py`). A long one, that never tries the same twice:

    python -m tests.collectors.builders.fuzz --minutes 10 [--seed N] [--only NAME]

It prints the seed of what fails; `--seed N --minutes 0` repeats it.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import struct
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from numba.core import event

from collectors.aggregation.batch_decoder import Decoder
from collectors.captures import pcap
from collectors.exports.netflow.netflow import NetflowDecoder
from collectors.exports.records.elements import HEAD, parse
from collectors.exports.sflow.sflow import SflowDecoder
from collectors.formats import text_files
from collectors.live import state_file
from collectors.packets import plain_decoder
from collectors.packets.frame_batch import Batch
from collectors.packets.plain_decoder import DecodeError
from collectors.packets.truncation import Cuts
from collectors.recorded_exports import captured_exports, ipfix_files
from tests.collectors.builders import captures, frames
from tests.collectors.builders import exports as x

PCAPS = Path(__file__).parents[3] / "pcaps"
SLOWEST_S, PER_OCTET_S = 5.0, 5e-5  # far more than any decoder takes, on a machine that is busy with other things


def damaged(chance: random.Random, octets: bytes) -> bytes:
    """What a network, a disk or an enemy makes of octets."""
    spoiled = bytearray(octets)
    for _ in range(chance.choice((0, 1, 1, 2, 4, 16))):
        if not spoiled:
            break
        at = chance.randrange(len(spoiled))
        match chance.randrange(7):
            case 0:
                spoiled[at] = chance.randrange(256)
            case 1:
                spoiled[at] ^= 1 << chance.randrange(8)
            case 2:
                del spoiled[at:]
            case 3:
                del spoiled[at : at + chance.randrange(1, 9)]
            case 4:
                spoiled[at:at] = chance.randbytes(chance.randrange(1, 9))
            case 5:
                value = chance.choice((0, 1, 3, 4, 0xFF, 0x7FFF, 0xFFFF))
                spoiled[at : at + 2] = struct.pack(">H", value)
            case 6:
                other = chance.randrange(len(spoiled))
                spoiled[at:at] = spoiled[other : other + chance.randrange(1, 64)]
    return bytes(spoiled)


def messages() -> tuple[bytes, ...]:
    """Messages of NetFlow and IPFIX."""
    varying = ((8, 4), (12, 4), (1, 4), (82, x.VARIABLE), (315, x.VARIABLE))
    frame = frames.ethernet(frames.ipv4(frames.roce(10, frames.reth(64) + b"x" * 64), 17))
    one = bytes(12) + x.variable(b"eth0") + x.variable(frame)
    given = (*x.FIELDS, (1, 4, 29305), (48, 2), (305, 4))
    totals = ((8, 4), (12, 4), (10, 4), (21, 4), (156, 8), (85, 4), (86, 8), (85, 8, 29305))
    total = bytes(8) + struct.pack(">IIQIQQ", 7, 99, 1 << 62, 900, 9, 70)
    return (
        x.ipfix(x.template(300), x.set_(300, x.record() + x.record(1)), x.template(301, varying)),
        x.ipfix(x.template(301, varying), x.set_(301, one * 3)),
        x.ipfix(x.options_template(400, ((302, 4),), ((305, 4), (160, 8))), x.set_(400, struct.pack(">IIQ", 1, 100, 5))),
        x.ipfix(x.set_(300, x.record()), x.set_(301, one), x.set_(2, struct.pack(">HH", 300, 0))),
        x.ipfix(x.template(302, given), x.set_(302, x.record() + bytes(10))),
        x.ipfix(x.template(303, totals), x.set_(303, total * 30)),
        x.ipfix(x.options_template(401, ((10, 4), (302, 4)), ((34, 4),)), x.set_(401, struct.pack(">III", 7, 1, 100))),
        x.v9(x.options_template(401, ((2, 4),), ((34, 4),), version=9), x.set_(401, struct.pack(">IIII", 1, 100, 2, 9))),
        x.v9(x.template(300, version=9), x.set_(300, x.record()), x.options_template(400, ((1, 4),), ((34, 4),), version=9)),
        x.v9(x.set_(300, x.record()), x.set_(400, bytes(8)), bytes(20)),
        x.v5(x.v5_record(), x.v5_record()),
    )


def samples() -> tuple[bytes, ...]:
    """Datagrams of sFlow."""
    headers = [x.raw_header(frame) for _, frame in frames.SAMPLES]
    told = x.flow_record(1036, bytes(4)), x.flow_record(1039, bytes(4)), x.flow_record(1040, bytes(4))
    return (
        x.sflow(*(x.flow_sample(header, *told) for header in headers[:8]), x.counters()),
        x.sflow(*(x.flow_sample(header, expanded=True) for header in headers[8:20]), agent="fd00::1"),
        x.sflow(x.drop_sample(headers[0], told[0]), x.counters(expanded=True), x.flow_sample(x.flow_record(3, bytes(32)))),
    )


def fuzz_netflow(chance: random.Random) -> int:
    """Batches of messages of several exporters, one after the other, whose laws hold."""
    return _fuzz_exports(chance, NetflowDecoder(), messages())


def fuzz_sflow(chance: random.Random) -> int:
    """Batches of datagrams of several agents, whose laws hold."""
    return _fuzz_exports(chance, SflowDecoder(), samples())


def _fuzz_exports(chance: random.Random, decoder: NetflowDecoder | SflowDecoder, good: tuple[bytes, ...]) -> int:
    octets = 0
    for _ in range(chance.randrange(1, 4)):
        payloads = [damaged(chance, chance.choice(good)) for _ in range(chance.randrange(20))]
        flows = decoder.decode(x.batch(*payloads, sender=chance.choice((x.A, x.B))))
        x.rows(flows)
        x.check_laws(decoder.tally, decoder.exporters)
        octets += sum(map(len, payloads))
    if isinstance(decoder, NetflowDecoder):
        NetflowDecoder(state=decoder.state)
    return octets


def fuzz_packets(chance: random.Random) -> int:
    """Frames, one by one and many at once: the same answers."""
    link_type, _ = chance.choice(frames.SAMPLES)
    given = [damaged(chance, frame) for kind, frame in frames.SAMPLES if kind == link_type]
    batch = Batch.of([(0, frame, len(frame) + chance.randrange(3)) for frame in given], link_type=link_type)
    extractor = captured_exports.Extractor(chance.choice(((), range(1 << 16))))
    extractor.exports(batch)
    extractor.end()
    assert extractor.frames + extractor.skipped.total() == len(batch)
    found = Decoder().decode(batch)
    cuts = Cuts()  # one for all: whether a long packet was cut by a mirror depends on the frames before
    plain = [plain_decoder.unpack(frame, int(wire), link_type, cuts) for frame, wire in zip(given, batch.wire, strict=True)]
    assert len(found) == sum(not isinstance(row, str) for row in plain)
    return sum(map(len, given))


@cache
def _corpus() -> tuple[bytes, ...]:
    real = [next(iter(pcap.read(path, batch_octets=1 << 14))) for path in sorted(PCAPS.glob("*/leaf0.pcap.gz"))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.pcap"
        pcap.write(path, ((0, real[0].data[o : o + n], n) for o, n in zip(real[0].offset[:40], real[0].captured, strict=False)))
        written = path.read_bytes()
    return (captures.pcap(), captures.pcap(">"), captures.pcapng(), written)


def fuzz_captures(chance: random.Random) -> int:
    """Capture files, whose packets are decoded."""
    octets = damaged(chance, chance.choice(_corpus()))
    with _file(octets) as path, contextlib.suppress(DecodeError):
        decoder, extractor = Decoder(), captured_exports.Extractor()
        for batch in pcap.read(path):
            decoder.decode(batch)
            extractor.exports(batch)
    return len(octets)


def fuzz_ipfix_files(chance: random.Random) -> int:
    """IPFIX files."""
    octets = damaged(chance, b"".join(chance.choice(messages()[:5]) for _ in range(chance.randrange(1, 9))))
    with _file(octets) as path, contextlib.suppress(DecodeError):
        ipfix_files.read(path, batch_octets=chance.choice((1, 100, 1 << 20)))
    return len(octets)


ROWS = (
    b"start_ns,end_ns,src,dst,octets,src_port,path\n1,2,10.0.0.1,10.0.0.2,5,6,a|b\n" + b"3,4,fd00::1,fd00::2,6,7,\n" * 9,
    b'{"start_ns": 1, "end_ns": 2, "src": "10.0.0.1", "dst": "10.0.0.2", "octets": 5, "path": "a|b"}\n' * 5,
)


def fuzz_dumps(chance: random.Random) -> int:
    """Dumps of flow records."""
    octets = damaged(chance, chance.choice(ROWS))
    with _file(octets) as path, contextlib.suppress(DecodeError):
        text_files.is_dump(octets[:100])
        text_files.read(path)
    return len(octets)


@cache
def _state() -> bytes:
    decoder = NetflowDecoder()
    decoder.decode(x.batch(*messages()))
    with _file(b"") as path:
        state_file.save(path, decoder.state)
        return path.read_bytes()


def fuzz_states(chance: random.Random) -> int:
    """States on disk, and tables of elements."""
    octets = damaged(chance, _state())
    with _file(octets) as path, contextlib.suppress(DecodeError):
        NetflowDecoder(state=state_file.load(path)).decode(x.batch(*messages()))
    table = damaged(chance, ",".join(HEAD).encode() + b"\n9,1,mine,dst_qp,\n0,150,start,start,s\n")
    with contextlib.suppress(DecodeError):
        parse(table.decode("utf-8", "replace"))
    return len(octets)


@contextlib.contextmanager
def _file(octets: bytes) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "input"
        path.write_bytes(octets)
        yield path


TARGETS: dict[str, Callable[[random.Random], int]] = {
    "netflow": fuzz_netflow,
    "sflow": fuzz_sflow,
    "packets": fuzz_packets,
    "captures": fuzz_captures,
    "ipfix files": fuzz_ipfix_files,
    "dumps": fuzz_dumps,
    "states": fuzz_states,
}


def attempt(name: str, seed: int) -> None:
    """One try; raises whatever escapes a decoder, AssertionError where it took too long, but for compiling."""
    began = time.process_time()
    with event.install_recorder("numba:compile") as compiled:
        octets = TARGETS[name](random.Random(seed))
    took = time.process_time() - began
    assert compiled.buffer or took < SLOWEST_S + octets * PER_OCTET_S, f"{took:.1f} s for {octets} octets"


def main() -> int:
    """Try until the time is up; the exit status tells whether anything failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=None, help="where to begin; else chosen anew")
    parser.add_argument("--only", choices=TARGETS, default=None)
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(1 << 40) if options.seed is None else options.seed
    names = [options.only] if options.only else list(TARGETS)
    end, tries, failed = time.monotonic() + 60 * options.minutes, 0, 0
    while tries == 0 or time.monotonic() < end:
        for name in names:
            try:
                attempt(name, seed)
            except Exception:
                failed += 1
                print(f"{name}: failed with --seed {seed} --only '{name}' --minutes 0", file=sys.stderr)
                traceback.print_exc()
        tries, seed = tries + len(names), seed + 1
    print(f"{tries} tries, {failed} failed")
    return min(failed, 1)


if __name__ == "__main__":
    sys.exit(main())
