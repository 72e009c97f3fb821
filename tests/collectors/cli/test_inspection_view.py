import io
from collections import Counter

from rich.console import Console

from collectors.cli._inspection_view import show_capture, show_records
from collectors.cli.inspection import Decoded, Dissected, Records

T = 1_795_214_542_000_000_000


def console(width=100):
    return Console(file=io.StringIO(), width=width, highlight=False, markup=False, emoji=False)


def captured(most=100):
    seen = Dissected(packets=4, octets=4000, snapped=0, first_ns=T, last_ns=T + 1_500_000_000)
    seen.links["Ethernet (1)"] = 4
    for stack, n in ((("eth", "ip", "tcp"), 2), (("eth", "ip", "udp"), 1), (("eth", "arp"), 1)):
        seen.stacks[stack] = n
        seen.octets_of[stack] = 1000 * n
    seen.talkers["10.0.0.1", "10.0.0.2\x1b[31m"] = 3000
    out = console()
    show_capture("a.pcap", seen, Decoded(used=3, payload=2, skipped={"not IP": 1}), ["a hint"], out, max_packets=most)
    return out.file.getvalue()


def test_a_capture():
    text = captured()
    assert "a.pcap: a capture\n" in text
    assert "4 packets, 4 kB on the wire, 1.500 s from 2026-11-20 22:42:22 UTC" in text
    assert "link types: Ethernet (1) (4)" in text
    words = [line.split() for line in text.splitlines()]
    order = [row[0] for row in words if row and row[0] in ("eth", "ip", "tcp", "udp", "arp")]
    assert order == ["eth", "ip", "tcp", "udp", "arp"]
    assert ["eth", "4", "100.0%", "4", "kB"] in words
    assert ["ip", "3", "75.0%", "3", "kB"] in words
    assert ["skip", "1", "not", "IP"] in words
    assert "• a hint" in text
    assert "\x1b" not in text


def test_only_the_first_packets():
    assert "a capture, the first 4 packets" in captured(most=4)


def test_a_rare_protocol_is_left_out():
    seen = Dissected(packets=100)
    for i in range(100):
        seen.stacks["eth", f"p{i}"] = 1
    out = console()
    show_capture("a.pcap", seen, Decoded(), [], out, max_packets=1000)
    assert "and 61 less frequent" in out.file.getvalue()


def test_records():
    talkers = Counter({(f"10.0.0.{i}", "10.0.1.1"): i * 10**9 for i in range(15)})
    records = Records(15, 105 * 10**9, T, T + 10**9, talkers, ("leaf0",), {"bad number": 2}, whole=False)
    out = console()
    show_records("a.parquet", "Parquet", records, out)
    text = out.file.getvalue()
    assert "a.parquet: flow records (Parquet), the first 15" in text
    assert "15 records, 105 GB, 1.000 s from" in text
    assert "switches: leaf0" in text
    assert "skipped: bad number (2)" in text
    assert "and 5 pairs more" in text


def test_times_beyond_the_calendar():
    out = console()
    show_records("a", "text", Records(1, 0, 2**62, 2**63 - 1, Counter(), (), {}, whole=True), out)
    assert "1 records, 0 octets" in out.file.getvalue()
