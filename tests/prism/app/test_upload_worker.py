import json

import pytest

from prism.app import upload_worker
from prism.storage import board_files


def test_a_dump_becomes_a_board_under_the_name_it_was_uploaded_with(tmp_path, capsys):
    (tmp_path / "0.csv").write_text("start_ns,end_ns,src,dst,octets\n1,2,10.0.0.1,10.0.0.2,3000\n")
    topology = json.dumps({"endpoints": {"10.0.0.1": {"host": "server0"}}})
    (tmp_path / "asked.json").write_text(json.dumps({"files": [["leaf0.csv", "0.csv"]], "topology": topology}))
    upload_worker.replay(tmp_path)
    assert {"stage": "dumps", "done": 0, "total": 1} in [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found = board_files.load(tmp_path / "board")
    assert found.board.source.files == ("leaf0.csv",)
    assert found.board.topology.host("10.0.0.1") == "server0"
    assert len(found.records.between(0, 9)) == 1


@pytest.mark.parametrize(
    ("name", "text", "why"),
    [
        ("notes.txt", "hello, this is no capture", "notes.txt, line 1: missing column start_ns"),
        ("topology.json", '{\n "endpoints": {"10.0.0.1": {}}}', "topology.json: is a topology, neither a capture nor"),
    ],
)
def test_an_error_names_the_file_as_it_was_uploaded(tmp_path, name, text, why):
    (tmp_path / "0.csv").write_text("start_ns,end_ns,src,dst,octets\n1,2,10.0.0.1,10.0.0.2,3000\n")
    (tmp_path / "1").write_text(text)
    (tmp_path / "asked.json").write_text(json.dumps({"files": [["leaf0.csv", "0.csv"], [name, "1"]], "topology": None}))
    with pytest.raises(ValueError, match=f"{tmp_path}/1") as raised:
        upload_worker.replay(tmp_path)
    assert upload_worker.shown(str(raised.value), tmp_path).startswith(why)


def test_two_files_of_one_switch(tmp_path):
    (tmp_path / "asked.json").write_text(json.dumps({"files": [["a.csv", "0.csv"], ["a.pcap", "1.pcap"]], "topology": None}))
    with pytest.raises(ValueError, match=r"a\.csv and a\.pcap: both belong to switch 'a'"):
        upload_worker.replay(tmp_path)
