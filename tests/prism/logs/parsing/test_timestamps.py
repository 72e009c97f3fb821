import pytest

from prism.logs.parsing._timestamps import parse_boot_time, parse_timestamp

AT = 1_732_598_237  # 2024-11-26 05:17:17 UTC


@pytest.mark.parametrize(
    ("line", "fraction"),
    [
        ("2024-11-26 05:17:17,250 - train - INFO - x", 250_000_000),
        (" [2024-11-26 05:17:17] iteration", 0),
        ("2024-11-26T05:17:17.5Z stdout F x", 500_000_000),
        ("2024-11-26T07:17:17+02:00 x", 0),
        ("2024-11-26T00:47:17-0430 x", 0),
        ("E1126 05:17:17.123000 5458 torch/x.py:836] y", 123_000_000),
        ("[rank3]:[E1126 05:17:17.123 ProcessGroupNCCL.cpp:607] y", 123_000_000),
        ("Nov 26 05:17:17.000 node7 kernel: x", 0),
        ("[Tue Nov 26 05:17:17 2024] NVRM: Xid", 0),
        (':::MLLOG {"namespace": "", "time_ms": 1732598237000, "event_type"', 0),
        ('{"ts": 1732598237.25, "msg": 1}', 250_000_000),
    ],
)
def test_times_of_known_makers(line, fraction):
    assert parse_timestamp(line, 2024) == AT * 10**9 + fraction


def test_no_time_and_impossible_ones():
    assert parse_timestamp("nothing", 2024) is None
    assert parse_timestamp("2024-13-45 99:99:99 x", 2024) is None
    assert parse_timestamp("Foo 26 05:17:17 host x: ", 2024) is None


def test_kernel_times_are_since_boot():
    assert parse_boot_time("[12345.000001] NVRM") == 12345 * 10**9 + 1000
    assert parse_boot_time("x") is None
