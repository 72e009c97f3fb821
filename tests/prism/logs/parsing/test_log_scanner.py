import random

from hypothesis import given
from hypothesis import strategies as st

from prism.logs.parsing import log_scanner
from prism.logs.parsing.log_scanner import FIRST, LAST, Kinds, scan

RUN = "".join(f" [2024-11-26 05:17:{i:02d}] iteration {i:8d}/ 50 | lm loss: 1.0 |\n" for i in range(30)).encode()
ERROR = b"Traceback (most recent call last):\n  File 'a'\nKeyError: 'x'\n"


def test_events_know_the_iteration_before_them():
    scanner = scan("a.log", [RUN, ERROR], Kinds(), rank=3)
    [event] = scanner.events()
    assert event.numbers == (31, 32, 33)
    assert (event.text, event.iteration, event.rank) == ("KeyError: 'x'", 29, 3)
    assert event.signature is not None
    assert scanner.last is not None
    assert scanner.last.iteration == 29


def test_blocks_may_be_split_anywhere_at_lines():
    lines = (RUN + ERROR).splitlines(keepends=True)
    whole = scan("a", [RUN + ERROR], Kinds()).events()
    assert scan("a", lines, Kinds()).events() == whole


def test_a_bar_that_was_not_ended_stands_before_an_error():
    [event] = scan("a", [b" 57%|##  | 8/14 [00:08<00:06,  1.2it/s]" + ERROR], Kinds()).events()
    assert event.numbers == (1, 2, 3)
    assert event.iteration == 8


def test_a_flood_of_errors_keeps_the_first_and_the_last():
    many = b"".join(b"ERROR: request %d failed\n" % i for i in range(10_000))
    events = scan("a", [many], Kinds()).events()
    assert len(events) == FIRST + LAST
    assert events[-1].numbers == (10_000,)


@given(st.lists(st.binary(max_size=300), max_size=8))
def test_any_octets_are_survived(blocks):
    scan("a", blocks, Kinds()).events()


def test_secrets_are_masked():
    [event] = scan("a", [b"ERROR: login failed: password=hunter22\n"], Kinds()).events()
    assert "hunter22" not in event.text


def test_an_error_is_found_in_rubbish(monkeypatch):
    monkeypatch.setattr(log_scanner, "CAREFUL", 50)
    monkeypatch.setattr(log_scanner, "MOST_LEARNT", 100)
    draw = random.Random(1)
    rubbish = b"".join(bytes(draw.choices(b"ghjkmnpqrvwxyz", k=30)) + b"\n" for _ in range(500))
    kinds = Kinds()
    events = scan("a", [rubbish + ERROR], kinds).events()
    assert [event.text for event in events] == ["KeyError: 'x'"]
    assert len(kinds.of) < 60
