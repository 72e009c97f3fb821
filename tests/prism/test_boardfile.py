import pickle

import numpy as np
import pytest

from collectors.record import Flows
from prism import boardfile
from prism.board import told
from prism.topology import Endpoint, Topology
from prism.views import job


class Evil:
    def __reduce__(self):
        return (print, ("ran",))


def test_a_board_comes_back_as_it_was(diagnosis, tmp_path):
    board = told(diagnosis, Topology({"10.10.0.1": Endpoint("server0", 0, "leaf0")}))
    flows = Flows.build({"start_ns": [1, 2], "octets": [3, 4]}, endpoints=("a", "b"))
    boardfile.save(tmp_path / "board", board, flows)
    back = boardfile.load(tmp_path / "board")
    assert job(back.board, "job-1") == job(board, "job-1")
    assert back.board.cases[0].finding.evidence["compute_ms"] == np.float64(61.2)
    assert back.records.between(0, 9).octets.tolist() == [3, 4]


@pytest.mark.parametrize("what", [Evil(), (Evil(), 1), [], (1, 2), print, np.load, 7], ids=repr)
def test_nothing_else_is_read_and_nothing_is_run(tmp_path, capsys, what):
    (tmp_path / "board").write_bytes(pickle.dumps(what))
    with pytest.raises(ValueError, match="no board"):
        boardfile.load(tmp_path / "board")
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("text", [b"", b"x", b"\x80\x05.", b"c__builtin__\neval\n.", b"cos\nsystem\n(S'true'\ntR."])
def test_bytes_that_are_no_pickle(tmp_path, text):
    (tmp_path / "board").write_bytes(text)
    with pytest.raises(ValueError, match="no board"):
        boardfile.load(tmp_path / "board")
