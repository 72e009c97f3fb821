import gzip

import pyarrow as pa
import pyarrow.parquet
import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from collectors.captures import pcap
from prism.counters.counter_files import read
from tests.collectors.builders.exports import counters, sflow

CSV = "time,switch,port,in_octets,out_octets\n" + "".join(f"{1790000000 + i},s,p,{i * 10},{i}\n" for i in range(5))


def test_tables_plain_and_packed(tmp_path):
    (tmp_path / "a.csv").write_text(CSV)
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(CSV.encode()))
    for name in ("a.csv", "b.csv.gz"):
        own = read([str(tmp_path / name)])
        assert own.ports == (("s", "p"),)
        assert own.in_octets.tolist() == [0, 10, 20, 30, 40]
        assert own.time_ns[1] == 1790000001 * 10**9


def test_a_mapping_names_columns_and_unit(tmp_path):
    table = pa.table({"ts": [5, 6], "ifName": ["a", "b"], "rx": [1.0, None]})
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    own = read([str(tmp_path / "a.parquet")], {"time": "ts", "port": "ifName", "in_octets": "rx", "time_unit": "ms"})
    assert own.time_ns.tolist() == [5_000_000, 6_000_000]
    assert own.in_octets.tolist() == [1, -1]
    assert own.ports == (("", "a"), ("", "b"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n", "column 'time' is missing"),
        ("time,port\n1,2\n", "neither in_octets nor out_octets"),
        ("time,port,in_octets\nx,p,1\n", "a time is neither"),
        ("time,port,in_octets\n1,p,x\n", "not a whole number"),
        ('{"a": 1}', "no counters of octets"),
    ],
)
def test_other_files_are_refused(tmp_path, text, message):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read([str(path)])


def test_counter_samples_of_sflow(tmp_path):
    def frames():
        for i in range(5):
            payload = sflow(*(counters(port, octets=1000 * i * port) for port in (7, 8)), sequence=i)
            frame = bytes(Ether() / IP(src="10.9.9.9", dst="10.9.9.1") / UDP(sport=5000, dport=6343) / payload)
            yield (1_790_000_000 + i) * 10**9, frame, len(frame)

    for name in ("s.pcap", "s.pcap.gz"):
        pcap.write(tmp_path / name, frames())
        own = read([str(tmp_path / name)])
        assert own.ports == (("10.9.9.9", "7"), ("10.9.9.9", "8"))
        assert own.in_octets.tolist() == [7000 * i for i in range(5)] + [8000 * i for i in range(5)]
        assert own.out_octets[1] == 7001


def test_bad_mappings_and_captures(tmp_path):
    with pytest.raises(ValueError, match="unknown name 'tim'"):
        read([], {"tim": "x"})
    path = tmp_path / "a.pcap"
    path.write_bytes(b"\xd4\xc3\xb2\xa1" + b"\x02\x00\x04\x00" + bytes(8) + b"\x00\x00\x04\x00\x01\x00\x00\x00")
    with pytest.raises(ValueError, match="no counter samples"):
        read([str(path)])
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(CSV.encode())[:-9])
    with pytest.raises(ValueError, match="damaged"):
        read([str(tmp_path / "b.csv.gz")])
