import pytest

from prism.app.recorded_service import opened


def test_files_of_the_past_as_a_service(tmp_path):
    path = tmp_path / "leaf0.csv"
    path.write_text("start_ns,end_ns,src,dst,octets\n1,2,10.0.0.1,10.0.0.2,3000\n")
    told = []
    service = opened([("leaf0", str(path))], None, lambda *said: told.append(said))
    assert service.mode == "replay"
    assert service.boards.newest.source.flows == 1
    assert len(service.records.between(0, 9)) == 1
    assert told[0] == ("dumps", 0, 1)


def test_what_cannot_be_read_is_named(tmp_path):
    path = tmp_path / "leaf0.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"leaf0\.csv"):
        opened([("leaf0", str(path))], None, lambda *_: None)
