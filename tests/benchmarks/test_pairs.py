import numpy as np
import pytest

from benchmarks import pairs
from collectors.aggregation import capture_reader
from collectors.aggregation.batch_decoder import Decoder
from collectors.aggregation.flow_table import flows_of
from collectors.captures import pcap
from collectors.columns.record import concatenated
from collectors.exports.netflow.netflow import NetflowDecoder
from tests.collectors.builders.exports import batch


@pytest.mark.parametrize(("kind", "distinct"), [("one", 2), ("some", 1000), ("random", 1110)])
def test_packets_and_records_have_the_pairs_they_should(tmp_path, kind, distinct):
    path = tmp_path / "a.pcap"
    pairs.capture(path, kind, 560)
    decoder = Decoder()
    flows, _, tally = flows_of({"a": capture_reader.read(pcap.read(path), decoder)}, decoder.endpoints)
    assert tally["packets seen once"] == 560
    assert flows.octets.sum() == 560 * 100
    assert len(decoder.endpoints) >= distinct

    exports = NetflowDecoder()
    exports.decode(batch(pairs.ipfix_template(), sender="192.0.2.1"))
    records = concatenated([exports.decode(part) for part in pairs.datagrams(kind, 560)])
    assert len(records) == 560
    src, dst = pairs.addresses(kind, 560)
    assert len(set(records.endpoints)) == len(np.unique(np.r_[src, dst])) >= distinct


def test_it_prints_both(capsys):
    assert pairs.main(["--count", "280", "--repeats", "1"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == ["packets", "records"]
