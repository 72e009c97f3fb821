import json
import os
from dataclasses import asdict, replace

import pytest

from prism.service.service_file import NAME, Running, local_url, read, service_note

RUNNING = Running("http://127.0.0.1:8080", os.getpid(), "prism-data/store", "secret")


def test_a_service_is_noted_for_its_owner_while_it_runs(tmp_path):
    with service_note(tmp_path, RUNNING) as path:
        assert path.stat().st_mode & 0o777 == 0o600
        assert read(tmp_path) == RUNNING
        assert [one.name for one in tmp_path.iterdir()] == [NAME]
    assert list(tmp_path.iterdir()) == []


def test_what_a_later_service_noted_stays(tmp_path):
    with service_note(tmp_path, RUNNING):
        (tmp_path / NAME).write_text(json.dumps(asdict(replace(RUNNING, process=1))))
    assert read(tmp_path).process == 1


def test_a_folder_that_takes_no_file_is_an_error(tmp_path):
    with pytest.raises(OSError, match="No such file"), service_note(tmp_path / "no", RUNNING):
        pass


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", "nothing", "\x00", "[" * 100_000),
        *(json.dumps(asdict(RUNNING) | more) for more in ({"url": "file:///etc"}, {"url": 7}, {"process": "1"}, {"more": 1})),
        *(json.dumps(asdict(RUNNING) | more) for more in ({"token": "a\nb"}, {"token": "\u00e9"}, {"store": None})),
    ],
)
def test_what_cannot_be_understood_is_no_service(text, tmp_path):
    (tmp_path / NAME).write_text(text)
    assert read(tmp_path) is None


def test_what_is_no_file_is_no_service(tmp_path):
    assert read(tmp_path) is None
    os.mkfifo(tmp_path / NAME)
    assert read(tmp_path) is None


@pytest.mark.parametrize(
    ("url", "own"),
    [
        ("http://127.0.0.1:80", "http://127.0.0.1:80"),
        ("http://*:80", "http://127.0.0.1:80"),
        ("http://:80", "http://127.0.0.1:80"),
        ("http://0.0.0.0:80", "http://127.0.0.1:80"),
        ("http://[::]:80", "http://[::1]:80"),
        ("http://[fd00::1]:80", "http://[fd00::1]:80"),
        ("http://10.0.0.5:80", "http://10.0.0.5:80"),
    ],
)
def test_where_a_service_is_for_its_own_host(url, own):
    assert local_url(url) == own
