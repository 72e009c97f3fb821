import threading

import pytest

from prism.alerts.matchers import parse_matcher
from prism.notify.silence_file import FILE, add, file_stamp, read, remove
from tests.prism.alerts.stories import NOW, S

HOST = [parse_matcher("host=~server1.*")]


def test_silences_are_added_and_end(tmp_path):
    assert (read(tmp_path), file_stamp(tmp_path)) == ([], (0, 0, 0))
    one = add(tmp_path, HOST, NOW, NOW + 3600 * S, now_ns=NOW, by="me", why="cable")
    before = file_stamp(tmp_path)
    two = add(tmp_path, HOST, NOW + 60 * S, NOW + 3600 * S, now_ns=NOW)
    assert file_stamp(tmp_path) != before
    assert read(tmp_path) == [one, two]
    assert remove(tmp_path, one.id[:6], NOW + 10 * S) == one
    assert remove(tmp_path, two.id, NOW + 10 * S) == two  # it had not begun: it goes
    assert [(left.id, left.end_ns) for left in read(tmp_path)] == [(one.id, NOW + 10 * S)]
    for name in (one.id, "", "zz"):
        with pytest.raises(ValueError, match="no active or future silence"):
            remove(tmp_path, name, NOW + 10 * S)


def test_those_long_over_go(tmp_path):
    add(tmp_path, HOST, NOW, NOW + S, now_ns=NOW)
    kept = add(tmp_path, HOST, NOW, NOW + 20 * 86_400 * S, now_ns=NOW)
    new = add(tmp_path, HOST, NOW + 90 * 86_400 * S, NOW + 91 * 86_400 * S, now_ns=NOW + 40 * 86_400 * S)
    assert read(tmp_path) == [kept, new]


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"silences": [{}]}', '{"silences": 5}', "[" * 100_000])
def test_a_file_of_something_else_is_an_error_and_stays(tmp_path, text):
    (tmp_path / FILE).write_text(text)
    with pytest.raises(ValueError, match=FILE):
        add(tmp_path, HOST, NOW, NOW + S)
    assert (tmp_path / FILE).read_text() == text


def test_a_silence_of_nothing_is_refused(tmp_path):
    for matchers, end in (([], NOW + S), (HOST, NOW)):
        with pytest.raises(ValueError, match="silence"):
            add(tmp_path, matchers, NOW, end)


def test_many_at_once_lose_none(tmp_path):
    threads = [threading.Thread(target=add, args=(tmp_path, HOST, NOW, NOW + S), kwargs={"now_ns": NOW}) for _ in range(12)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len({one.id for one in read(tmp_path)}) == 12
