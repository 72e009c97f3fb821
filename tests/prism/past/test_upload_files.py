import io

import pytest

from prism.past.upload_files import FullError, Incoming


@pytest.mark.parametrize(
    ("name", "shown", "ours"),
    [
        ("a/b\\leaf0.pcap.gz", "leaf0.pcap.gz", "0.pcap.gz"),
        ("x.sh", "x.sh", "0"),
        ("a\0\n.pcap", "a.pcap", "0.pcap"),
        ("", "upload", "0"),
        ("..", "..", "0"),
        ("y" * 300 + ".csv", "y" * 100, "0"),
    ],
)
def test_nothing_of_a_name_reaches_the_disk_but_its_ending(tmp_path, name, shown, ours):
    incoming = Incoming("1", tmp_path, 10)
    incoming.add(name, io.BytesIO(b"x"))
    assert incoming.files == [(shown, ours)]
    assert [path.name for path in tmp_path.iterdir()] == [ours]


def test_files_of_one_name_lie_side_by_side_and_no_more_than_fits(tmp_path):
    incoming = Incoming("1", tmp_path, 10)
    for _ in range(2):
        incoming.add("leaf0.pcap", io.BytesIO(b"12345"))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0.pcap", "1.pcap"]
    with pytest.raises(FullError, match="fit"):
        incoming.add("leaf0.pcap", io.BytesIO(b"1"))
