import json
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from prism.app.booking_sources import Names, fetched, once, origins
from tests.prism.inventory import documents
from tests.prism.inventory.documents import pod, pods


class Scheduler(BaseHTTPRequestHandler):
    """Slurm's REST and an API server of Kubernetes, each with its token."""

    def do_GET(self):
        answers = {"/slurm/v0.0.41/jobs": documents.slurm(), "/api/v1/pods?labelSelector=a=b": pods(pod("a"))}
        known = self.headers.get("X-SLURM-USER-TOKEN") == "s3cret" or self.headers.get("Authorization") == "Bearer s3cret"
        body = json.dumps(answers.get(self.path, {})).encode()
        self.send_response(200 if known and self.path in answers else 403)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def scheduler():
    server = HTTPServer(("127.0.0.1", 0), Scheduler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def settings(folder, *sources):
    path = folder / "names.json"
    path.write_text(json.dumps({"sources": list(sources)}))
    return str(path)


def test_schedulers_are_asked_with_their_token(scheduler, tmp_path):
    (tmp_path / "token").write_text("s3cret\n")
    path = settings(
        tmp_path,
        {"kind": "slurm", "url": scheduler, "user": "prism", "token": {"file": "token"}},
        {"name": "k8s", "kind": "kubernetes", "url": scheduler + "/", "token": "s3cret", "selector": "a=b"},
    )
    assert {(one.source, one.title) for one in once([path])} == {("slurm", "llama-70b"), ("k8s", "a")}


def test_a_refusal_is_said_without_the_secret(scheduler, tmp_path):
    (origin,) = origins([settings(tmp_path, {"kind": "slurm", "url": scheduler, "token": "wr0ng"})])
    with pytest.raises(OSError, match="HTTP 403") as caught:
        fetched(origin)
    assert "wr0ng" not in str(caught.value)
    assert "wr0ng" not in repr(origin)


def test_a_file_is_read_again_and_what_leaves_it_has_ended(tmp_path):
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps(documents.slurm()))
    names = Names(origins([str(path)]), clock=lambda: 2_000_000_000 * 10**9)
    names.turn(0.0)
    assert [one.end_ns for one in names.bookings()] == [0]
    path.write_text("{")
    names.turn(10.0)
    assert [one.end_ns for one in names.bookings()] == [0]  # what was known stays
    assert names.health()["ok"] is False
    path.write_text('{"jobs": [], "meta": {}}')
    names.turn(11.0)
    assert names.health()["ok"] is False  # not due yet
    names.turn(20.0)
    assert names.health()["ok"] is True
    assert [one.end_ns for one in names.bookings()] == [2_000_000_000 * 10**9]
    assert {count.name: dict(count.values) for count in names.counts()} == {
        "prism_scheduler_jobs": {("jobs",): 0},
        "prism_scheduler_failed": {("jobs",): 1},
    }


def test_names_are_read_while_the_context_lasts(tmp_path):
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps(documents.slurm()))
    names, seen = Names(origins([str(path)])), threading.Event()
    with names.running():
        for _ in range(200):
            if names.bookings():
                seen.set()
                break
            seen.wait(0.02)
    assert seen.is_set()


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (5, r"sources\[0\]: must be an object"),
        ({"kind": "pbs"}, r"sources\[0\]\.kind: must be one of"),
        ({"kind": "file"}, r'needs "file"'),
        ({"kind": "slurm", "url": "ftp://a"}, r"url: must be http"),
        ({"kind": "slurm", "url": "http://u:p@a"}, r"url: must be http"),
        ({"kind": "slurm", "url": "http://a", "token": {"env": "NO_SUCH_VARIABLE"}}, r"token: must be text"),
        ({"kind": "slurm", "url": "http://a", "colour": 1}, r"unknown key 'colour'"),
        ({"kind": "slurm", "url": "http://a", "every_s": 0.1}, r"every_s: must be"),
    ],
)
def test_wrong_settings_are_refused_at_the_start(tmp_path, source, why):
    with pytest.raises(ValueError, match=why):
        origins([settings(tmp_path, source)])


def test_a_file_that_is_wrong_at_the_start_is_an_error(tmp_path):
    (tmp_path / "a.json").write_text('{"jobs": [{"id": 1}]}')
    with pytest.raises(ValueError, match=r"a\.json: jobs\[0\]"):
        origins([str(tmp_path / "a.json")])
    with pytest.raises(OSError, match=r"b\.json"):
        origins([str(tmp_path / "b.json")])
    (tmp_path / "c.json").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="UTF-8"):
        origins([str(tmp_path / "c.json")])
