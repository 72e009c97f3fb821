import pytest

from collectors.formats.column_mapping import OURS, Place, parse, parse_flags, parse_protocol

GOOD = "{start_ns: a, end_ns: b, src: c, dst: d, octets: e}"


def test_a_mapping():
    text = """
start_ns: {column: "time [us]", unit: us}
duration_ns: {constant: 1, unit: s}
src: from
dst: to
octets: {column: words, scale: 4}
protocol: {constant: 17}
"""
    columns = parse(text, "c.yaml")
    assert columns.places == {
        "start_ns": Place("time [us]", 1000),
        "duration_ns": Place("", 10**9, "1"),
        "src": Place("from"),
        "dst": Place("to"),
        "octets": Place("words", 4),
        "protocol": Place("", 1, "17"),
    }
    assert columns.columns_to_read() == ["time [us]", "from", "to", "words"]
    assert columns.missing() == []
    assert columns.required_columns() == ["time [us]", "from", "to", "words"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "defines no columns"),
        ("[1]", "defines no columns"),
        ("{", "c.yaml"),
        (GOOD.replace("}", ", colour: f}"), "unknown column colour"),
        (GOOD.replace("octets: e", "packets: e"), "missing column octets"),
        (GOOD.replace("end_ns: b, ", ""), r"missing column end_ns \(or duration_ns\)"),
        (GOOD.replace(": e", ": {column: e, unit: ms}"), "octets: unit: only times"),
        (GOOD.replace(": a", ": {column: a, unit: h}"), "start_ns: unit: h must be one of ns, us, ms, s, iso"),
        (GOOD.replace(": e", ": {column: e, scale: -1}"), "octets: scale: -1"),
        (GOOD.replace(": e", ": {column: e, scale: nan}"), "octets: scale: nan"),
        (GOOD.replace(": e", ": {column: e, constant: 1}"), "octets: column and constant exclude each other; give one of them"),
        (GOOD.replace(": e", ": {scale: 1}"), "octets: column and constant exclude each other; give one of them"),
        (GOOD.replace(": e", ": {column: e, kind: 1}"), "octets: kind: unknown"),
        (GOOD.replace(": e", ": {column: [1]}"), "octets: column: must be text"),
        (GOOD.replace(": e", ": []"), "octets: must be a column name"),
        (GOOD.replace("start_ns: a", "start_ns: a, start_ns: b"), "'start_ns' is given twice"),
    ],
)
def test_what_a_mapping_may_not_say(text, complaint):
    with pytest.raises(ValueError, match=rf"c\.yaml.*{complaint}|{complaint}"):
        parse(text, "c.yaml")


def test_present_and_spans():
    has = OURS.present(["start_ns", "duration_ns", "src", "dst", "octets", "colour"])
    assert has.missing() == []
    assert set(has.places) == {"start_ns", "duration_ns", "src", "dst", "octets"}
    assert "end_ns" not in OURS.spanned(["start_ns", "duration_ns"]).places
    assert "duration_ns" not in OURS.spanned(["start_ns", "end_ns"]).places
    assert OURS.present(["src"]).missing() == ["start_ns", "end_ns", "dst", "octets"]


def test_words():
    assert [parse_protocol(name) for name in ("TCP", "udp", "ICMP6", "unknown_transport")] == [6, 17, 58, 0]
    assert [parse_flags(text) for text in ("...AP.SF", "........", "0x1b", "CEUAPRSF")] == [27, 0, 27, 255]
    for word in (parse_protocol, parse_flags):
        with pytest.raises(ValueError, match="nonsense"):
            word("nonsense")
