from hypothesis import given
from hypothesis import strategies as st

from prism.feedback.remarks import MAX_CHARACTERS, Remark, clean_note, labelled_findings, standing, to_json

KNOWN = {
    "finding": {
        "detector": "slow_rank",
        "severity": "warning",
        "confidence": 0.9,
        "subject": {"type": "endpoint", "ids": ["10.0.0.1"]},
    },
    "job": {"name": "llama", "endpoints": 8, "layout": {"dp": 2}},
}


def remark(act, at, case="c1", **more):
    return Remark(f"{case}-{at}", case, act, at, "ada", **more)


def test_the_newest_of_each_counts():
    found = standing([remark("right", 5), remark("false", 7), remark("acknowledge", 6), remark("note", 9)])
    assert (found.acknowledged.at_ns, found.verdict.act) == (6, "false")
    assert [one.at_ns for one in found.remarks] == [5, 6, 7, 9]
    assert standing([remark("acknowledge", 1), remark("release", 2)]).acknowledged is None
    assert standing([]) == standing(())


def test_marked_findings_are_labelled_data_with_their_evidence():
    (row,) = labelled_findings(
        [remark("right", 5, known=KNOWN), remark("false", 7, known=KNOWN, text="a new kernel"), remark("note", 8, "c2")]
    )
    assert (row["case"], row["right"], row["confidence"], row["ids"], row["ranks"]) == ("c1", False, 0.9, ["10.0.0.1"], 8)
    assert (row["text"], row["by"], row["job_name"]) == ("a new kernel", "ada", "llama")
    assert labelled_findings([remark("right", 1)])[0]["confidence"] is None
    assert remark("right", 1, known=KNOWN).severity == "warning"


@given(st.text(max_size=6000))
def test_notes_are_bounded_and_without_control_characters(text):
    found = clean_note(text)
    assert len(found) <= MAX_CHARACTERS
    assert all(c.isprintable() or c == "\n" for c in found)
    assert to_json(remark("note", 1, text=found))["text"] == found
