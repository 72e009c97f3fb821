import ipaddress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.exports.admission import LIMITED, NOT_ALLOWED, SECOND, TOO_MANY, Admission, parse_networks

START = 1_795_000_000 * SECOND


def address(text):
    return ipaddress.ip_address(text).packed


def admit(admission, senders, now_ns, **more):
    distinct = list(dict.fromkeys(senders))
    return admission.admit(distinct, np.array([distinct.index(sender) for sender in senders], np.intp), now_ns, **more)


ONE, TWO, SIX = address("10.0.0.1"), address("192.0.2.7"), address("fd00::1")


def test_without_a_list_everybody_is_allowed_and_with_an_empty_one_nobody():
    admitted = admit(Admission(), [ONE, TWO, SIX, ONE], START)
    assert admitted.rows.tolist() == [0, 1, 2, 3]
    assert [admitted.senders[i] for i in admitted.sender] == ["10.0.0.1", "192.0.2.7", "fd00::1", "10.0.0.1"]
    assert admitted.weight.tolist() == [1] * 4
    nobody = Admission(allowed=())
    assert len(admit(nobody, [ONE, TWO, SIX], START).rows) == 0
    assert nobody.refused == {NOT_ALLOWED: 3}


def test_a_list_of_networks():
    admission = Admission(allowed=parse_networks(["10.0.0.0/8", " fd00::/8 ", "192.0.2.1"]))
    assert admit(admission, [ONE, TWO, SIX, TWO], START).rows.tolist() == [0, 2]
    assert admission.refused == {NOT_ALLOWED: 2}
    with pytest.raises(ValueError, match=r"10\.0\.0\.1/8"):
        parse_networks(["10.0.0.1/8"])


def test_ipv4_inside_ipv6_is_ipv4():
    admitted = admit(Admission(allowed=parse_networks(["10.0.0.1"])), [bytes(10) + b"\xff\xff" + ONE], START)
    assert admitted.senders == ("10.0.0.1",)


def test_another_list_holds_from_then_on():
    admission = Admission()
    admit(admission, [ONE, TWO], START)
    admission.reload(parse_networks(["192.0.2.0/24"]), rate=None)
    assert admit(admission, [ONE, TWO, ONE], START).rows.tolist() == [1]
    admission.reload(None, rate=None)
    assert admit(admission, [ONE, TWO], START).rows.tolist() == [0, 1]
    assert admission.refused == {NOT_ALLOWED: 2}


def test_exporters_are_bounded_and_silent_ones_make_room():
    admission = Admission(most=2, idle_ns=60 * SECOND)
    assert len(admit(admission, [ONE, TWO, SIX, SIX], START).rows) == 2
    assert admission.refused == {TOO_MANY: 2}
    admit(admission, [TWO], START + 50 * SECOND)
    assert admit(admission, [SIX, ONE], START + 70 * SECOND).rows.tolist() == [1]  # it is not silent any more
    admit(admission, [TWO], START + 120 * SECOND)
    admitted = admit(admission, [SIX], START + 140 * SECOND)
    assert [admitted.senders[i] for i in admitted.sender] == ["fd00::1"]
    assert sorted(admission.names) == ["192.0.2.7", "fd00::1"]


def test_forged_senders_take_no_memory():
    admission = Admission(allowed=parse_networks(["10.0.0.0/8"]), most=4)
    for i in range(40):
        admit(admission, [address(f"203.{i}.{j // 256}.{j % 256}") for j in range(4096)], START)
    assert len(admission._verdicts) <= 1 << 16
    assert admission.names == []
    assert admission.refused[NOT_ALLOWED] == 40 * 4096


def test_who_keeps_to_the_rate_is_not_touched():
    admission = Admission(rate=100)
    for i in range(50):
        admitted = admit(admission, [ONE] * 5, START + i * SECOND // 20)
        assert admitted.weight.tolist() == [1] * 5
    assert not admission.refused


@given(st.lists(st.tuples(st.integers(1, 400), st.integers(1, 200)), min_size=30, max_size=60), st.integers(1, 300))
def test_what_is_kept_stands_for_all_and_stays_within_the_rate(batches, rate):
    admission, now, sent, kept, stands = Admission(rate=rate), START, 0, 0, 0
    for count, gap_ms in batches:
        now += gap_ms * SECOND // 1000
        admitted = admit(admission, [ONE] * count + [TWO], now)
        mine = admitted.sender == 0
        sent, kept = sent + count, kept + int(np.count_nonzero(mine))
        stands += int(admitted.weight[mine].sum())
        assert np.all(np.diff(admitted.rows) > 0)
    assert kept <= rate * ((now - START) / SECOND + 1) + 1
    assert stands + int(admission._owed[0]) == sent
    assert admission.refused[LIMITED] == sent + len(batches) - kept - (int(admission.received[1]) - int(admission.limited[1]))


def test_templates_are_kept_beyond_the_rate():
    admission = Admission(rate=10)
    for second in range(5):
        admitted = admit(admission, [ONE] * 100, START + second * SECOND, precious=lambda row: row in (7, 99))
        assert {7, 99} <= set(admitted.rows.tolist())
        assert len(admitted.rows) <= 12
    admit(admission, [ONE] * 1000, START + 5 * SECOND, precious=lambda _: True)
    assert admission.refused[LIMITED] >= 440 + 980  # nor does calling everything a template help
