import json
import pickle
import random
import tracemalloc
import zlib
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.columns.record import Flows
from prism.storage import board_files
from prism.storage.packing import HEADER, MAGIC
from prism.topology import Endpoint, Topology
from prism.tracking.board import Board, board_of
from prism.views.board_views import job

FLOWS = Flows.build({"start_ns": [1, 2], "octets": [3, 4]}, endpoints=("a", "b"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(st.text(max_size=8), inner, max_size=6),
)


class Evil:
    def __reduce__(self):
        return (print, ("ran",))


def refused(path, octets):
    """Only one kind of error, with the name of the file."""
    path.write_bytes(octets)
    with pytest.raises(ValueError, match=r"board: no board: ") as error:
        board_files.load(path)
    assert type(error.value) is ValueError


def loaded(path):
    """What is in a file; None where it is refused in the one way that there is."""
    try:
        return board_files.load(path)
    except ValueError as error:
        if type(error) is not ValueError or not str(error).startswith(f"{path}: no board: "):
            raise
        return None


def sealed(document, body=b""):
    """A file with a right header, whatever is in it."""
    document += b" " * (-(HEADER.size + len(document)) % 8)
    return HEADER.pack(MAGIC, len(document), len(body), zlib.crc32(document + body)) + document + body


@pytest.fixture
def small(diagnosis, tmp_path):
    board_files.save(tmp_path / "board", board_of(diagnosis), FLOWS)
    return (tmp_path / "board").read_bytes()


def test_a_board_comes_back_as_it_was(diagnosis, tmp_path):
    board = board_of(diagnosis, Topology({"10.10.0.1": Endpoint("server0", 0, "leaf0")}))
    board_files.save(tmp_path / "board", board, FLOWS)
    back = board_files.load(tmp_path / "board")
    assert job(back.board, "job-1") == job(board, "job-1")
    assert back.board.cases[0].finding.evidence["compute_ms"] == np.float64(61.2)
    assert back.board.topology == board.topology
    assert back.records.between(0, 9).octets.tolist() == [3, 4]


@pytest.mark.parametrize("what", [Evil(), (Evil(), 1), [], (1, 2), print, np.load, 7], ids=repr)
def test_pickles_are_not_read_and_nothing_is_run(tmp_path, capsys, what):
    refused(tmp_path / "board", pickle.dumps(what))
    assert capsys.readouterr().out == ""


def test_a_file_that_is_not_there_is_the_same_kind_of_error(tmp_path):
    with pytest.raises(ValueError, match="board: no board: No such file"):
        board_files.load(tmp_path / "board")


def test_a_file_cut_anywhere(tmp_path):
    board_files.save(tmp_path / "board", Board(), FLOWS)
    octets = (tmp_path / "board").read_bytes()
    for end in range(len(octets)):
        refused(tmp_path / "board", octets[:end])


def test_octets_that_have_changed_with_and_without_the_right_checksum(small, tmp_path):
    rng, path = random.Random(7), tmp_path / "board"
    for _ in range(400):
        octets = bytearray(small)
        for _ in range(rng.randint(1, 4)):
            octets[rng.randrange(len(octets))] ^= 1 << rng.randrange(8)
        refused(path, octets)
        magic, long, rest, _ = HEADER.unpack_from(octets)
        HEADER.pack_into(octets, 0, magic, long, rest, zlib.crc32(octets[HEADER.size :]))
        path.write_bytes(octets)
        if back := loaded(path):
            [job(back.board, one.id) for one in back.board.jobs]


@settings(max_examples=200, deadline=None)
@given(JSON)
def test_any_json(tmp_path_factory, value):
    refused(tmp_path_factory.getbasetemp() / "board", sealed(json.dumps(value).encode()))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_a_document_of_which_a_part_is_another(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "board"
    board_files.save(path, Board(), FLOWS)
    octets = path.read_bytes()
    long = HEADER.unpack_from(octets)[1]
    document = json.loads(octets[HEADER.size : HEADER.size + long])
    document[data.draw(st.sampled_from(sorted(document)))] = data.draw(JSON)
    path.write_bytes(sealed(json.dumps(document).encode(), octets[HEADER.size + long :]))
    loaded(path)


@pytest.mark.parametrize("count", [2**62, -1, "9", 1e9, None, 10**30])
def test_lengths_that_cannot_be_take_no_memory(small, tmp_path, count):
    long = HEADER.unpack_from(small)[1]
    document = json.loads(small[HEADER.size : HEADER.size + long])
    document["arrays"] = [[name, count] for name, _ in document["arrays"]]
    tracemalloc.start()
    refused(tmp_path / "board", sealed(json.dumps(document).encode(), small[HEADER.size + long :]))
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()


def test_nested_too_deeply(tmp_path):
    refused(tmp_path / "board", sealed(b"[" * 200_000))


def test_codes_that_name_nothing_are_refused(diagnosis, tmp_path):
    board = board_of(diagnosis)
    found = board.jobs[0].found
    timeline = found.timeline
    spans = replace(timeline.spans, rank=timeline.spans.rank + np.int32(10_000))
    for wrong in (
        replace(found, timeline=replace(timeline, spans=spans)),
        replace(found, timeline=replace(timeline, steps=timeline.steps[1:])),
        replace(found, timeline=replace(timeline, first=-1)),
        replace(found, timeline=replace(timeline, first=1 << 62)),
        replace(found, job=replace(found.job, endpoints=tuple("x" * len(found.job.endpoints)))),
    ):
        board_files.save(tmp_path / "board", replace(board, jobs=(replace(board.jobs[0], found=wrong),)), FLOWS)
        with pytest.raises(ValueError, match="no board"):
            board_files.load(tmp_path / "board")
    board_files.save(tmp_path / "board", board, replace(FLOWS, src=np.array([0, 7], np.int32)))
    with pytest.raises(ValueError, match="no board: a code is not in 0 to 1"):
        board_files.load(tmp_path / "board")
