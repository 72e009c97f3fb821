from prism.logs.parsing.log_scanner import Kinds, scan
from prism.logs.patterns._log_causes import cause_of


def root(text):
    events = scan("a", [text], Kinds()).events()
    return cause_of(events[0], events)


def test_the_place_of_an_error_says_more_than_its_type():
    frames = b"Traceback (most recent call last):\n  File 'x/%s.py', line 1, in f\n    g()\n%s\n"
    assert root(frames % (b"checkpoint", b"ConnectionRefusedError: [Errno 111] Connection refused"))[0] == "storage"
    assert root(frames % (b"model", b"ConnectionRefusedError: [Errno 111] Connection refused"))[0] == "network"
    assert root(frames % (b"dataset", b"KeyError: 'x'"))[0] == "data"
    assert root(frames % (b"model", b"KeyError: 'x'"))[0] == "user code"
    assert root(frames % (b"model", b"FileNotFoundError: no checkpoint"))[0] == "storage"
    assert root(b"ERROR: what\n") == ("unknown", "no signature")
