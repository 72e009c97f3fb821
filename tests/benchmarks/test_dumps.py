from benchmarks import dumps
from collectors.formats import file_types


def test_every_format_is_measured(tmp_path):
    measured = dumps.measure(tmp_path, 500, repeats=1)
    assert [m.name for m in measured] == ["csv", "csv.gz", "jsonl", "parquet", "nfdump.csv"]
    assert all(m.read > 0 and m.bare > 0 and m.octets > 0 for m in measured)
    assert all((m.write > 0) == (m.name != "nfdump.csv") for m in measured)
    for path in tmp_path.iterdir():
        flows = file_types.open_records(path).flows()
        assert len(flows) == 500
        assert flows.octets.sum() == dumps.example(500).octets.sum()


def test_it_prints_a_line_per_format(capsys):
    assert dumps.main(["100"]) == 0
    assert capsys.readouterr().out.count("× pyarrow") == 5
