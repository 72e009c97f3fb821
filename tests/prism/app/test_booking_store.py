import json
import time

from collectors.clickhouse import drivers
from prism.app._booking_store import KeptBookings, known_names
from prism.app.booking_sources import Names, origins
from prism.inventory.bookings import Booking
from tests.prism.inventory import documents

NOW = time.time_ns()
ONE = Booking("1", "a", "ada", "gpu", ("server0",), ("10.0.0.1",), NOW, source="slurm")


def test_bookings_are_kept_each_as_it_was_last(tmp_path):
    database = drivers.opened(str(tmp_path / "store"))
    kept = KeptBookings(database)
    kept.save([ONE], 1)
    kept.save([Booking(**(vars(ONE) | {"end_ns": NOW + 5}))], 2)
    kept.save([Booking("2", hosts=("b",))], 3)  # it has no start: it cannot be found by time
    (one,) = KeptBookings(database).load()
    assert one == Booking(**(vars(ONE) | {"end_ns": NOW + 5}))
    database.close()


def test_names_outlive_a_restart(tmp_path):
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps(documents.slurm(start_time=NOW // 10**9 - 60)))
    database = drivers.opened(str(tmp_path / "store"))
    names = Names(origins([str(path)]))
    with known_names(names, database):
        names.turn(1e12)
        assert names.bookings()
    path.unlink()
    again = Names(names._origins)
    with known_names(again, database):
        assert [one.title for one in again.bookings()] == ["llama-70b"]
    database.close()
