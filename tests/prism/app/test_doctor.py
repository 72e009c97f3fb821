import pytest
from hypothesis import given
from hypothesis import strategies as st

from prism.app import doctor
from prism.app.doctor import CAP_NET_RAW, CHECKS, LEVELS, MIB, Clock, Facts, Requirements, Store, examine, worst

GIB = 1 << 30
GOOD = Facts(
    granted=32 * MIB,
    rmem_max=32 * MIB,
    rmem_default=212_992,
    clock=Clock(True, 0.002),
    capabilities=1 << CAP_NET_RAW,
    packet_sockets="",
    interface="up",
    store=Store("26.9.1", wrote=True),
    disk_free=10_000 * GIB,
    disk_writable=True,
    ports={("udp", 6343): ""},
    files=65_536,
    memory=64 * GIB,
    python=(3, 11, 7),
    cache=("/var/cache/prism", True),
)
ASKED = Requirements(interface="eth1", store="/var/lib/prism", folder="/var/lib/prism", ports=(("udp", 6343),))


def but(**changes):
    return Facts(**(vars(GOOD) | changes))


def told(name, facts=GOOD, asked=ASKED):
    return next(check for check in examine(facts, asked) if check.name == name)


def test_a_fit_machine_is_fine():
    checks = examine(GOOD, ASKED)
    assert [check.level for check in checks] == ["fine"] * len(CHECKS)
    assert not any(check.advice for check in checks)
    assert worst(checks) == "fine"


@pytest.mark.parametrize(
    ("name", "changes", "level", "said", "advice"),
    [
        (
            "receive buffer",
            {"granted": 212_992},
            "warning",
            "grants 0.203 MiB of 32 MiB requested, enough for 0.08 s of 65,000 records/s (2,321",
            "33554432",
        ),
        ("clock", {"clock": Clock(False, 16.0)}, "warning", "not synchronised", "chrony"),
        ("clock", {"clock": Clock(True, 0.4)}, "warning", "error at most 400 ms", "nearer"),
        ("capture", {"capabilities": 0}, "error", "CAP_NET_RAW is missing", "prism-collect-capture.service"),
        ("capture", {"packet_sockets": "Operation not permitted"}, "error", "Operation not permitted", "CONFIG_PACKET"),
        ("capture", {"interface": "missing"}, "error", "interface eth1 does not exist", "ip link"),
        ("capture", {"interface": "down"}, "warning", "eth1 is down", "ip link set eth1 up"),
        ("store", {"store": Store(error="refused")}, "error", "refused", "log of the store"),
        ("store", {"store": Store(error="in use by 71", transient=True)}, "warning", "in use by 71", "/readyz"),
        ("store", {"store": Store(error="none is there", absent=True)}, "warning", "none is there", "init /var/lib/prism"),
        ("store", {"store": Store("18.16")}, "error", "did not return the test row", "/var/lib/prism"),
        ("disk", {"disk_free": 100 * GIB}, "warning", "need 659 GiB", "0.89 days"),
        ("disk", {"disk_writable": False}, "error", "is not writable", "chown"),
        ("ports", {"ports": {("udp", 6343): "Address already in use"}}, "warning", "6343/udp (Address", "ss -lunpt"),
        ("open files", {"files": 1024}, "warning", "1,024", "LimitNOFILE=65536"),
        ("memory", {"memory": 3 * GIB}, "warning", "3 GiB available", "sampling"),
        ("memory", {"memory": GIB}, "error", "1 GiB available", "sampling"),
        ("compiled code", {"cache": ("/opt/prism", False)}, "warning", "/opt/prism is not writable", "NUMBA_CACHE_DIR"),
        ("compiled code", {"python": (3, 9, 1)}, "error", "Python 3.9.1", "3.11"),
    ],
)
def test_what_is_wrong_is_reported_with_what_to_do(name, changes, level, said, advice):
    check = told(name, but(**changes))
    assert (check.level, said in check.said, advice in check.advice) == (level, True, True), check
    assert worst(examine(but(**changes), ASKED)) == level


@pytest.mark.parametrize("name", ["capabilities", "packet_sockets"])
def test_who_does_not_capture_needs_no_capability(name):
    facts = but(**{name: 0 if name == "capabilities" else "Operation not permitted", "interface": None})
    check = told("capture", facts, Requirements())
    assert check.level == "fine"
    assert "only prism-collect capture and erspan need it" in check.said


def test_what_cannot_be_found_out_is_no_complaint():
    checks = examine(Facts(), Requirements())
    assert {check.level for check in checks} == {"unknown", "fine"}
    assert worst(checks) == "fine"


@given(st.integers(1, 1 << 31), st.floats(1, 1e7), st.floats(0, 10))
def test_a_machine_that_does_as_it_is_told_has_enough_buffer(granted, rate, pause):
    asked = Requirements(rate=rate, pause_s=pause)
    check = told("receive buffer", but(granted=granted), asked)
    if check.level == "warning":
        wanted = int(check.advice.split("rmem_max=")[1].split(",")[0])
        assert told("receive buffer", but(granted=wanted), asked).level == "fine"
        assert wanted <= asked.buffer_mib * MIB or f"buffer = {-(-wanted // MIB)}" in check.advice


@given(st.floats(1, 1e6), st.floats(0.1, 400), st.integers(0, 1 << 60))
def test_a_disk_holds_what_is_said_to_fit(rate, days, free):
    check = told("disk", but(disk_free=free), Requirements(rate=rate, days=days))
    if check.level == "warning":
        fits = float(check.advice.split(" days")[0].removeprefix("the disk holds "))
        assert told("disk", but(disk_free=free), Requirements(rate=rate, days=fits * 0.9)).level == "fine"


def test_the_level_of_all_is_that_of_the_worst():
    order = [doctor.Check("a", level, "") for level in LEVELS]
    assert worst(tuple(order)) == "error"
    assert worst(tuple(order[:3])) == "warning"
    assert worst(tuple(order[:2])) == "fine"
    assert worst(()) == "fine"
