import pytest

from prism.inventory.bookings import Booking
from prism.lost_time.lost_hours import lost, share, total
from tests.prism.alerts.stories import NOW, TOPOLOGY, S, case, finding

WEEK = NOW - 7 * 86_400 * S, NOW + S
HOUR = 3600.0


def cases():
    return [
        case("a", finding(lost_gpu_s=10 * HOUR)),
        case("b", finding(lost_gpu_s=5 * HOUR, start=NOW - 900 * S, kind="slow_link", job="job2")),
        case("c", finding(lost_gpu_s=99 * HOUR, severity="info")),
        case("d", finding("slow_switch", ("leaf0",), subject="switch", lost_gpu_s=2 * HOUR)),
        case("e", finding(lost_gpu_s=7 * HOUR, start=NOW - 30 * 86_400 * S)),
    ]


def rows(by):
    return {
        row["name"]: row for row in lost(cases(), by, *WEEK, topology=TOPOLOGY, bookings={"job1": Booking("1", "llama", "ada")})
    }


def test_hours_are_summed_by_cause_host_switch_job_and_user():
    assert {name: row["gpu_hours"] for name, row in rows("cause").items()} == {
        "slow rank": 10,
        "slow link": 5,
        "slow switch": 2,
    }
    hosts = rows("host")
    assert hosts["server5"]["gpu_hours"] == pytest.approx(17 * 0.97)
    assert (hosts["server5"]["number"], hosts["server5"]["again"]) == (3, True)
    assert {name: row["gpu_hours"] for name, row in rows("switch").items()} == {"leaf0": 2}
    assert set(rows("job")) == {"llama (job1)", "job2"}
    assert set(rows("user")) == {"ada", "unknown"}
    assert total(list(rows("cause").values())) == 17
    assert next(iter(rows("cause"))) == "slow rank"  # what lost most comes first


def test_a_finding_counts_with_its_share_in_the_time():
    one = case("a", finding(start=NOW - 100 * S))  # lasts 50 s
    assert share(one, NOW - 75 * S, NOW) == pytest.approx(0.5)
    assert share(one, 0, NOW) == 1.0
    assert share(one, NOW, NOW + S) == 0.0
