import json

from hypothesis import given
from hypothesis import strategies as st

from prism.stacks.stack_dumps import Frame, parse

FAULT = """Timeout (0:00:09)!
Thread 0x00007f01 (most recent call first):
  File "/usr/lib/python3/threading.py", line 324 in wait
Thread 0x00007f60 (most recent call first):
  File "/x/torch/distributed/distributed_c10d.py", line 4394 in all_gather_single
  File "/srv/train.py", line 385 in fb
  File "/srv/train.py", line 421 in <module>
"""
SPY = """Process 4242: python train.py
Python v3.11.7 (/usr/bin/python3.11)

Thread 4242 (active): "MainThread"
    all_reduce (torch/distributed/distributed_c10d.py:2810)
    step (train.py:40)
    <module> (train.py:99)
Thread 4250 (idle): "QueueFeederThread"
    wait (threading.py:324)
    run (threading.py:975)
    f (queue.py:1)
    g (queue.py:2)
"""


def test_faulthandler_s_last_dump():
    dump = parse(
        'junk\nTimeout (0:00:01)!\nThread 0x1 (most recent call first):\n  File "old", line 1 in old\n' + FAULT, "a", 3
    )
    assert dump is not None
    assert dump.main is not None
    assert dump.main.frames[0] == Frame("all_gather_single", "/x/torch/distributed/distributed_c10d.py", 4394)
    assert [thread.frames[-1].function for thread in dump.threads] == ["wait", "<module>"]


def test_py_spy_as_text_and_json():
    dump = parse(SPY, "a", None)
    assert dump is not None
    assert dump.main is not None
    assert dump.main.name == "MainThread"
    assert dump.main.frames[1] == Frame("step", "train.py", 40)
    rows = [
        {"thread_id": 1, "thread_name": one.name, "active": True, "frames": [f._asdict() for f in one.frames]}
        for one in dump.threads
    ]
    text = json.dumps(rows).replace('"function"', '"name"').replace('"file"', '"filename"')
    again = parse(text, "a", None)
    assert again is not None
    assert again.main == dump.main


@given(st.text(max_size=500), st.sampled_from([FAULT, SPY, '[{"frames": ']))
def test_anything_is_survived(text, head):
    parse(text, "a", 0)
    parse(head + text, "a", 0)
    parse(head[: len(text)] + text, "a", 0)


def test_other_texts_are_none():
    assert parse("hello", "a", 0) is None
