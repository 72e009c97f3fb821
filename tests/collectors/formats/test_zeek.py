import gzip
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.formats import text_files, zeek
from collectors.packets.plain_decoder import DecodeError
from tests.collectors.builders.packets import rows_of

FIELDS = [
    *("ts", "uid", "id.orig_h", "id.orig_p", "id.resp_h", "id.resp_p", "proto", "service", "duration", "orig_bytes"),
    *("resp_bytes", "conn_state", "history", "orig_pkts", "orig_ip_bytes", "resp_pkts", "resp_ip_bytes"),
]
LINES = """\
1795214542.125000 C1 10.0.0.1 40000 10.0.0.2 9000 tcp - 2.250000 5000 300 SF ShADadFf 10 5400 8 640
1795214543.000001 C2 10.0.0.3 137 10.0.0.255 137 udp dns - - - S0 D 7 546 0 0
1795214544.000000 C3 fe80::1 130 ff02::1 131 icmp - 0.500000 0 0 OTH - 1 64 0 0
"""
ROWS = [line.split() for line in LINES.splitlines()]
T = 1_795_214_542_125_000_000
EXPECTED = [
    (T, T + 2_250_000_000, "10.0.0.1", "10.0.0.2", 40000, 9000, 6, 5000, 10, 0x1B),
    (T, T + 2_250_000_000, "10.0.0.2", "10.0.0.1", 9000, 40000, 6, 300, 8, 0x1B),
    (T + 875_001_000, T + 875_001_000, "10.0.0.3", "10.0.0.255", 137, 137, 17, 546, 7, 0),
    (T + 1_875_000_000, T + 2_375_000_000, "fe80::1", "ff02::1", 130, 131, 1, 0, 1, 0),
]


def facts(flows):
    names = ("src_port", "dst_port", "protocol", "octets", "packets", "tcp_flags")
    rows = zip(*(getattr(flows, name).tolist() for name in ("start_ns", "end_ns", "src", "dst", *names)), strict=True)
    return [(start, end, flows.endpoints[s], flows.endpoints[d], *more) for start, end, s, d, *more in rows]


def log(rows=ROWS, separator="\t", unset="-", fields=FIELDS):
    code = f"\\x{ord(separator):02x}"
    head = [
        f"#separator {code}",
        f"#set_separator{separator},",
        f"#empty_field{separator}(empty)",
        f"#unset_field{separator}{unset}",
    ]
    head += [f"#path{separator}conn", f"#open{separator}2026-11-20-22-42-22", f"#fields{separator}" + separator.join(fields)]
    body = [separator.join(unset if value == "-" else value for value in row) for row in rows]
    return "\n".join([*head, f"#types{separator}time", *body, f"#close{separator}2026-11-20-22-43-22"]) + "\n"


@pytest.mark.parametrize(("separator", "unset"), [("\t", "-"), ("|", "(none)"), (",", "-")])
def test_a_log(tmp_path, separator, unset):
    path = tmp_path / "conn.log.gz"
    path.write_bytes(gzip.compress(log(separator=separator, unset=unset).encode()))
    assert text_files.is_dump(path.read_bytes())
    flows, skipped = text_files.read(path, exporter="conn", block_octets=100)
    assert facts(flows) == EXPECTED
    assert not skipped
    assert flows.exporters == ("conn",)


def test_json(tmp_path):
    path = tmp_path / "conn.log"
    objects = [dict(zip(FIELDS, row, strict=True)) for row in ROWS]
    for row in objects:
        for name, value in list(row.items()):
            if value == "-":
                del row[name]
            elif name not in ("uid", "proto", "service", "conn_state", "history") and not name.endswith("_h"):
                row[name] = float(value) if "." in value else int(value)
    path.write_text("".join(json.dumps(row) + "\n" for row in objects))
    assert facts(text_files.read(path)[0]) == EXPECTED
    objects[0]["ts"] = "2026-11-20T22:42:22.125000Z"
    path.write_text("".join(json.dumps(row) + "\n" for row in objects))
    assert facts(text_files.read(path)[0]) == EXPECTED


def test_logs_one_behind_the_other(tmp_path):
    few = [*FIELDS[:7], *FIELDS[8:11]]
    rows = [[*row[:7], *row[8:11]] for row in ROWS[:1]]
    (tmp_path / "conn.log").write_text(log() + log(rows, fields=few))
    flows, _ = text_files.read(tmp_path / "conn.log")
    assert len(flows) == 6
    assert sorted(flows.octets.tolist()) == [0, 300, 300, 546, 5000, 5000]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (log(fields=["x", *FIELDS[1:]]), r"line 7: missing column ts \(start_ns\), end_ns"),
        ("#separator \\x09\n1\t2\n", "line 2: rows before the line #fields"),
        ("#separator \\x0a\n", "is not a column separator"),
        (
            log().replace("10.0.0", "host"),
            "line 9: bad address in id.orig_h; 2 of 3 rows are bad, more than half, so the file is rejected",
        ),
    ],
)
def test_what_is_no_log(tmp_path, text, match):
    (tmp_path / "conn.log").write_text(text)
    with pytest.raises(DecodeError, match=rf"conn\.log, {match}|conn\.log.*{match}"):
        text_files.read(tmp_path / "conn.log")


def test_histories():
    assert zeek.originator_flags("ShADadFfR") == 0x02 | 0x10 | 0x08 | 0x01 | 0x04
    assert zeek.responder_flags("ShADadFfR") == 0x12 | 0x10 | 0x18 | 0x11
    assert zeek.originator_flags("^dC") == 0


@given(st.data())
def test_garbled_logs_are_read_or_refused(tmp_path_factory, data):
    octets = bytearray(log().encode())
    for _ in range(data.draw(st.integers(1, 5))):
        octets[data.draw(st.integers(0, len(octets) - 1))] = data.draw(st.sampled_from(b"\t\n#-x0\xff\0"))
    path = tmp_path_factory.mktemp("z") / "conn.log"
    path.write_bytes(octets)
    with suppress(DecodeError):
        assert len(rows_of(text_files.read(path)[0])) <= 6
