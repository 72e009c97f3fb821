import pytest

from collectors.clickhouse.drivers import opened
from collectors.clickhouse.store_error import AbsentError, StoreError
from collectors.clickhouse.store_folders import absent, check_new, is_stored, resolved
from collectors.store.spool import Spool
from collectors.store.store_sink import open_sink


@pytest.fixture
def service(tmp_path):
    """The folder of a service: its store, and its spool."""
    pytest.importorskip("chdb")
    opened(str(tmp_path / "data" / "store")).close()
    Spool(tmp_path / "data" / "spool").close()
    return tmp_path / "data"


def test_a_store_is_known_by_its_database(service):
    assert is_stored(service / "store")
    assert not is_stored(service)
    assert not is_stored(service / "spool")  # another lock of the same name
    assert resolved(str(service)) == str(service / "store")
    assert resolved(str(service / "store")) == str(service / "store")
    with pytest.raises(StoreError, match=r"nnn: file name too long$"):
        is_stored(service / ("n" * 300))


def test_a_new_store_needs_a_folder_of_its_own(service, tmp_path):
    with pytest.raises(StoreError, match=r"is the folder of prism serve --data; its store is .*/data/store: name that"):
        check_new(service)
    check_new(tmp_path / "new")
    check_new(service / "store")
    (service / "store" / "metadata" / "prism.sql").unlink()
    check_new(service / "store")  # what a full disk left
    (tmp_path / "notes.txt").touch()
    with pytest.raises(StoreError, match=r"no store exists here, but data, notes\.txt; a new store needs an empty folder"):
        check_new(tmp_path)


@pytest.mark.parametrize("make", [opened, lambda where: open_sink(f"chdb:{where}")])
def test_nothing_is_made_in_a_folder_of_something_else(make, tmp_path):
    for name in ("a", "b", "c", "d", "e"):
        (tmp_path / name).touch()
    with pytest.raises(StoreError, match="no store exists here, but a, b, c and 2 more; a new store needs"):
        make(str(tmp_path))
    assert len(list(tmp_path.iterdir())) == 5


def test_what_is_there_instead_is_named(service, tmp_path):
    (tmp_path / "file").touch()
    (tmp_path / "empty").mkdir()
    for name, said in (
        ("file", "no store exists here but a file"),
        ("file/store", "there is no such folder"),
        ("empty", "nothing is in the folder"),
        ("no", r"no store exists here; create it with prism store init; there is no such folder"),
        ("", "no store exists here, but data, empty, file; name the folder of a store"),
    ):
        with pytest.raises(AbsentError, match=said):
            opened(str(tmp_path / name), make=False)
    assert "no such folder" not in str(absent(service / "spool"))
    assert list((tmp_path / "empty").iterdir()) == []
