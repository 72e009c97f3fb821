import io
import signal
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from prism.past.upload_files import FullError
from prism.past.uploads import OVER, Bounds, Uploads


def upload(uploads, files, topology=None):
    incoming = uploads.incoming()
    for name, content in files:
        incoming.add(name, io.BytesIO(content))
    return uploads.start(incoming, topology)


def quick(uploads):
    """An upload that fails soon."""
    return upload(uploads, [("leaf0.pcap", b""), ("leaf0.pcap.gz", b"")])


def finished(uploads, one, timeout=120):
    done = threading.Event()

    def look():
        if one.state in OVER:
            done.set()

    uploads.told = look
    look()
    assert done.wait(timeout)
    return one


def test_an_invalid_capture_fails_and_says_why_without_its_place(tmp_path):
    with Uploads(tmp_path) as uploads:
        bad = upload(uploads, [("../../etc/leaf0.pcap", b"x" * 500)])
        twice = quick(uploads)
        assert finished(uploads, bad).state == "failed"
        assert finished(uploads, twice).state == "failed"
        assert bad.files == ("leaf0.pcap",)
        assert str(tmp_path) not in bad.error
        assert "both belong to switch" in twice.error
        assert uploads.result(bad.id) is None
        assert uploads.result("../x") is None
        assert {path.name for path in tmp_path.iterdir()} == {f"upload-{bad.id}", f"upload-{twice.id}"}
        assert list((tmp_path / f"upload-{bad.id}").iterdir()) == []
    assert list(tmp_path.iterdir()) == []


def test_a_replay_that_takes_too_long_is_ended(tmp_path):
    with Uploads(tmp_path, Bounds(seconds=0.01)) as uploads:
        one = finished(uploads, upload(uploads, [("leaf0.pcap", b"x")]))
    assert one.state == "failed"
    assert one.error == "the replay took longer than its limit of 0.01 s; --upload-seconds sets it"


CAPTURE = Path(__file__).parents[3] / "pcaps" / "hang" / "leaf0.pcap.gz"


def begun(uploads, one):
    running = threading.Event()
    uploads.told = lambda: running.set() if one.stage else None
    uploads.told()
    assert running.wait(60)


def test_a_replay_that_runs_can_be_cancelled(tmp_path):
    with Uploads(tmp_path) as uploads:
        one = upload(uploads, [("leaf0.pcap.gz", CAPTURE.read_bytes())])
        after = upload(uploads, [("leaf0.pcap.gz", b"x")])
        begun(uploads, one)
        child = uploads._child
        assert uploads.remove(one.id) is one
        assert child.wait(30) == -signal.SIGKILL
        assert finished(uploads, after).state == "failed"  # the next one has its turn
        assert (one.state, one.error, uploads.result(one.id)) == ("cancelled", None, None)
        assert list((tmp_path / f"upload-{one.id}").iterdir()) == []
        assert uploads.remove(one.id) is None
        assert uploads.get(one.id) is None


def test_an_upload_that_waits_is_forgotten_at_once(tmp_path):
    with Uploads(tmp_path) as uploads:
        first = upload(uploads, [("leaf0.pcap.gz", CAPTURE.read_bytes())])
        waiting = upload(uploads, [("leaf0.pcap", b"x")])
        begun(uploads, first)
        assert uploads.remove(waiting.id) is None
        uploads.remove(first.id)
        assert finished(uploads, quick(uploads)).state == "failed"
        assert uploads.get(waiting.id) is None


def test_a_relative_folder_with_spaces_will_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Uploads("my data/uploads") as uploads:
        done = finished(uploads, upload(uploads, [("leaf0.pcap.gz", CAPTURE.read_bytes())]))
        assert (done.state, done.error) == ("done", None)
        assert uploads.result(done.id).board.jobs is not None


def test_a_replay_with_too_little_memory_fails_alone(tmp_path):
    rows, file = pa.array([1] * 3_000_000), io.BytesIO()
    names = pa.array(["10.0.0.1"]).take(pa.array(np.zeros(len(rows), np.int32))).dictionary_encode()
    table = {"start_ns": rows, "end_ns": rows, "src": names, "dst": names, "octets": rows}
    pq.write_table(pa.table(table), file, compression="zstd")
    with Uploads(tmp_path, Bounds(memory=64 << 20)) as uploads:
        one = finished(uploads, upload(uploads, [("rows.parquet", file.getvalue())]))
    assert one.state == "failed"
    assert one.error == "the files need more memory than the limit of 64 MiB; --upload-memory sets it"


def test_the_end_does_not_wait_for_a_replay(tmp_path):
    with Uploads(tmp_path) as uploads:
        before = [thread for thread in threading.enumerate() if thread.name == "prism-uploads"]
        for _ in range(3):
            upload(uploads, [("leaf0.pcap", b"x")])
    assert list(tmp_path.iterdir()) == []
    assert not uploads._thread.is_alive()
    assert len(before) >= 1


def test_the_spool_is_bounded_in_octets_and_number(tmp_path):
    with Uploads(tmp_path, Bounds(octets=1000, uploads=2)) as uploads:
        incoming = uploads.incoming()
        incoming.add("a", io.BytesIO(b"x" * 600))
        with pytest.raises(FullError, match="fit"):
            incoming.add("b", io.BytesIO(b"x" * 401))
        uploads.discard(incoming)
        assert list(tmp_path.iterdir()) == []
        first, second, third = (finished(uploads, quick(uploads)) for _ in range(3))
        assert [one.id for one in uploads.all()] == [second.id, third.id]
        assert uploads.get(first.id) is None
        assert uploads.remove(second.id) is None
        assert uploads.get(second.id) is None
        assert not uploads.remove(second.id)
        assert [path.name for path in tmp_path.iterdir()] == [f"upload-{third.id}"]


def test_what_a_replay_left_and_cannot_be_read_is_a_failure(tmp_path):
    with Uploads(tmp_path) as uploads:
        one = finished(uploads, quick(uploads))
        one.state = "done"
        (tmp_path / f"upload-{one.id}" / "board").write_bytes(b"cos\nsystem\n(S'true'\ntR.")
        assert uploads.result(one.id) is None
        assert (one.state, one.error) == ("failed", "the result of the replay cannot be read")


def test_there_is_no_room_while_all_wait(tmp_path):
    uploads = Uploads(tmp_path, Bounds(uploads=1))
    tmp_path.mkdir(exist_ok=True)
    upload(uploads, [("a.pcap", b"x")])  # nobody works at it: the context was not begun
    with pytest.raises(FullError, match="waiting"):
        uploads.incoming()


def test_what_is_old_goes(tmp_path):
    with Uploads(tmp_path, Bounds(age_s=0)) as uploads:
        one = finished(uploads, quick(uploads))
        uploads.discard(uploads.incoming())
        assert uploads.get(one.id) is None
