import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.logs.parsing.log_envelopes import of_loki, plain, unwrap

NS = 1_732_598_237_250_000_000


def test_journald_export_with_text_and_octets():
    message = b"NVRM: Xid 79\nsecond"
    record = b"__CURSOR=s\n__REALTIME_TIMESTAMP=1732598237250000\n_HOSTNAME=node7\nSYSLOG_IDENTIFIER=kernel\n"
    data = record + b"MESSAGE=plain\n\n" + record + b"MESSAGE\n" + len(message).to_bytes(8, "little") + message + b"\n\n"
    text = b"".join(unwrap([data[:50], data[50:]])).decode()
    head = "2024-11-26T05:17:17.250000Z node7 kernel: "
    assert text == f"{head}plain\n{head}NVRM: Xid 79\n{head}second\n"


def test_journald_json_and_containers():
    rows = [{"__REALTIME_TIMESTAMP": "1732598237250000", "_HOSTNAME": "n1", "_COMM": "python", "MESSAGE": [104, 105]}]
    rows += [{"log": "hello\n", "stream": "stderr", "time": "2024-11-26T05:17:17.25Z"}]
    text = b"".join(unwrap(["\n".join(map(json.dumps, rows)).encode()])).decode().splitlines()
    assert text == ["2024-11-26T05:17:17.250000Z n1 python: hi", "2024-11-26T05:17:17.25Z stderr F hello"]


def test_plain_lines_stay():
    assert list(unwrap([b"a\n", b"b\n"])) == [b"a\n", b"b\n"]
    assert plain(NS, "a b", "", "x") == "2024-11-26T05:17:17.250000Z a-b unknown: x\n"


@given(st.binary(max_size=400), st.sampled_from([b"__CURSOR=x\n", b'{"__REALTIME_TIMESTAMP": 1}\n']))
def test_damage_is_survived(data, head):
    b"".join(unwrap([head + data, data]))


def test_answers_of_loki():
    answer = {"data": {"resultType": "streams", "result": [{"stream": {"host": "n1"}, "values": [["5", "x"]]}]}}
    assert of_loki(answer) == [({"host": "n1"}, [(5, "x")])]
    for wrong in ({}, [], {"data": {"resultType": "matrix"}}, {"data": {"resultType": "streams", "result": [3]}}):
        with pytest.raises(ValueError, match=r"Loki|select"):
            of_loki(wrong)
