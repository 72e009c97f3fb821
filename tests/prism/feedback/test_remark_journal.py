import pytest

from collectors.clickhouse import drivers
from prism.feedback.remark_journal import Journal


@pytest.fixture
def database(tmp_path):
    made = drivers.opened(str(tmp_path / "store"))
    yield made
    made.close()


def test_remarks_outlive_a_restart(database):
    journal = Journal(database)
    journal.add("c1", "acknowledge", by="ada", known={"finding": {"severity": "warning"}})
    journal.add("c1", "note", by="bob", text="a fan\x00 is broken")
    again = Journal(database)
    assert again.of("c1") == journal.of("c1")
    assert [one.text for one in again.of("c1").remarks] == ["", "a fan\ufffd is broken"]
    assert again.acknowledged() == {"c1": "warning"}
    assert again.of("c2").remarks == ()
    assert set(again.standings()) == {"c1"}


def test_without_a_store_they_last_as_long_as_the_service():
    journal = Journal()
    before = journal.revision
    journal.add("c1", "acknowledge", by="ada")
    journal.add("c1", "release", by="ada")
    assert journal.acknowledged() == {}
    assert journal.revision == before + 2
