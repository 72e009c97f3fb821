"""What nfdump itself writes, where it is installed; the families of other versions are written by hand."""

import pytest

from collectors.formats import nfdump, text_files
from collectors.packets.plain_decoder import DecodeError
from tests.collectors.builders.programs import STEP, nfcapd_file, run, traffic

T = 1_795_214_542
OLD = (
    "ts,te,td,sa,da,sp,dp,pr,flg,fwd,stos,ipkt,ibyt,opkt,obyt,in,out,sas,das,smk,dmk,dtos,dir,nh,nhb,svln,dvln,ismc,odmc,idmc,"
    "osmc,mpls1,mpls2,mpls3,mpls4,mpls5,mpls6,mpls7,mpls8,mpls9,mpls10,cl,sl,al,ra,eng,exid,tr"
)
ROW = (
    "2026-11-20 22:42:22,2026-11-20 22:42:24,2.250,10.0.0.1,10.0.0.2,{sp},{dp},{pr},...AP.SF,0,0,10,5380,{opkt},{obyt},0,0,0,0,"
    "0,0,0,0,0.0.0.0,0.0.0.0,0,0,00:00:00:00:00:00,00:00:00:00:00:00,00:00:00:00:00:00,00:00:00:00:00:00,0-0-0,0-0-0,0-0-0,0-0-0,0-0-0,"
    "0-0-0,0-0-0,0-0-0,0-0-0,0-0-0,    0.000,    0.000,    0.000,{ra},17/1,0,2026-11-21 08:59:54.981"
)
SUMMARY = ("Summary", "flows,bytes,packets,avg_bps,avg_pps,avg_bpp", "376,681736392,36789,519319285,3503,18530")


def row(sp="38982", dp="9000", pr="TCP", opkt=0, obyt=0, ra="0.0.0.0"):
    return ROW.format(sp=sp, dp=dp, pr=pr, opkt=opkt, obyt=obyt, ra=ra)


def read(tmp_path, *lines, exporter="file"):
    path = tmp_path / "flows.csv"
    path.write_text("\n".join(lines) + "\n")
    return text_files.read(path, exporter=exporter)


def facts(flows):
    columns = ("start_ns", "end_ns", "src_port", "dst_port", "protocol", "octets", "packets", "tcp_flags")
    rows = zip(*(getattr(flows, c).tolist() for c in columns), strict=True)
    ends = zip(flows.src.tolist(), flows.dst.tolist(), strict=True)
    return [(flows.endpoints[s], flows.endpoints[d], *r) for (s, d), r in zip(ends, rows, strict=True)]


START, END = T * 10**9, T * 10**9 + 2_250_000_000


def test_the_old_family(tmp_path):
    flows, skipped = read(tmp_path, OLD, row(), row(pr="ICMP", sp="0", dp="3.1", ra="192.168.0.9"), row(pr="MYSTERY"), *SUMMARY)
    assert not skipped
    assert facts(flows) == [
        ("10.0.0.1", "10.0.0.2", START, END, 38982, 9000, 6, 5380, 10, 27),
        ("10.0.0.1", "10.0.0.2", START, END, 0, 0, 1, 5380, 10, 27),
        ("10.0.0.1", "10.0.0.2", START, END, 38982, 9000, 0, 5380, 10, 27),
    ]
    assert [flows.exporters[code] for code in flows.exporter] == ["file", "192.168.0.9", "file"]


def test_both_directions_are_two_records(tmp_path):
    flows, _ = read(tmp_path, OLD, row(opkt=3, obyt=180))
    assert facts(flows) == [
        ("10.0.0.1", "10.0.0.2", START, END, 38982, 9000, 6, 5380, 10, 27),
        ("10.0.0.2", "10.0.0.1", START, END, 9000, 38982, 6, 180, 3, 0),
    ]


def test_several_tables_in_one_file_and_no_flows(tmp_path):
    flows, skipped = read(tmp_path, OLD, row(), *SUMMARY, OLD, row(), *SUMMARY)
    assert (len(flows), dict(skipped)) == (2, {})
    flows, skipped = read(tmp_path, OLD, "No matching flows", *SUMMARY)
    assert (len(flows), dict(skipped)) == (0, {})


def test_the_families_of_later_versions(tmp_path):
    flows, skipped = read(
        tmp_path,
        "firstSeen,duration,proto,srcAddr,srcPort,dstAddr,dstPort,packets,bytes,flows",
        "2026-11-20 22:42:22.125,00:00:02.250,TCP,10.0.0.1,38982,10.0.0.2,9000,10,5380,1",
        "2026-11-20 22:42:22.125,2.250,TCP,10.0.0.1,38982,10.0.0.2,9000,10,5380,1",
    )
    assert not skipped
    expected = ("10.0.0.1", "10.0.0.2", START + 125_000_000, END + 125_000_000, 38982, 9000, 6, 5380, 10)
    assert facts(flows) == [(*expected, 0)] * 2
    flows, skipped = read(
        tmp_path,
        "cnt,af,firstSeen,lastSeen,proto,srcAddr,srcPort,dstAddr,dstPort,srcAS,dstAS,input,output,flags,srcTos,packets,bytes",
        f"1,2,{T}125,{T + 2}375,6,10.0.0.1,38982,10.0.0.2,9000,0,0,1,2,...AP.SF,0,10,5380",
    )
    assert facts(flows) == [(*expected, 27)]
    flows, skipped = read(
        tmp_path,
        "firstSeen,lastSeen,srcAddr,dstAddr,inPackets,inBytes,outPackets,outBytes,routerIP",
        f"{T}.125,{T + 2}.375,10.0.0.1,10.0.0.2,10,5380,4,200,192.168.0.9",
    )
    assert [fact[2:4] + fact[7:9] for fact in facts(flows)] == [(*expected[2:4], 5380, 10), (*expected[2:4], 200, 4)]
    assert set(flows.exporters) == {"192.168.0.9"}


def test_a_statistic_is_no_table_of_flows(tmp_path):
    with pytest.raises(DecodeError, match="missing column start_ns"):
        read(tmp_path, "ts,te,td,pr,val,fl,flP,pkt,pktP,byt,bytP,pps,bps,bpp", "1,2,3,4,5,6,7,8,9,10,11,12,13,14")
    assert nfdump.columns(["start_ns", "src"]) is None


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Flows of packets, by nfpcapd; and how many IP octets they had."""
    folder = tmp_path_factory.mktemp("nfdump")
    octets = traffic(folder / "in.pcap")
    return nfcapd_file(folder, folder / "in.pcap"), octets


# of both directions, nfdump 1.7.1 writes one alone as JSON
@pytest.mark.parametrize(("form", "both"), [("csv", False), ("csv", True), ("json", False)])
def test_what_nfdump_writes(made, tmp_path, form, both):
    file, octets = made
    text = run("nfdump", "-r", file, "-o", form, *(["-b"] if both else []))
    path = tmp_path / f"flows.{form}"
    path.write_text(text)
    flows, skipped = text_files.read(path, exporter="leaf0", block_octets=700)
    assert not skipped
    assert flows.octets.sum() == octets
    assert flows.packets.sum() == 60
    ends = {(fact[0], fact[1], fact[4], fact[5]) for fact in facts(flows)}
    assert len(ends) == len(flows) == 6
    assert set(flows.protocol.tolist()) == {6}
    if form == "json":
        assert flows.start_ns.min() == START
        assert flows.end_ns.max() == START + 59 * STEP
    assert {flows.exporters[code] for code in flows.exporter} == {"leaf0"}
