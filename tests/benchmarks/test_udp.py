import pytest

from benchmarks import udp


def test_every_receiver_is_measured_on_what_was_sent(capsys):
    assert udp.main(["--seconds", "0.2", "--rate", "5000"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["bare", "apart", "ipfix", "sflow"]
    assert all("lost in the kernel" in line and "× bare" in line for line in lines)


@pytest.mark.parametrize("kind", sorted(udp.MAKERS))
def test_datagrams_are_all_decoded(kind):
    result = udp.whole(kind, 2000, 0.1, 32 << 20)
    templates = kind != "sflow"
    each = udp.RECORDS if templates else udp.SAMPLES
    assert result.received == result.sent - result.lost
    assert result.records == (result.received - templates) * each
