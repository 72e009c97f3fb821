import bz2
import gzip
import lzma

import pytest
import zstandard

from prism.logs.log_reader import MAX_LINE_OCTETS, Tail, blocks, list_files, read

TEXT = b"one\ntwo\nthree\n"


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress, zstandard.compress])
def test_compressed_files_are_known_by_their_content(tmp_path, pack):
    path = tmp_path / "a.log"
    path.write_bytes(pack(TEXT))
    assert b"".join(read(str(path))) == TEXT


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress, zstandard.compress])
def test_damaged_ends_end_the_stream(tmp_path, pack):
    path = tmp_path / "a.log"
    path.write_bytes(pack(TEXT * 1000)[:-9])
    assert (TEXT * 1000).startswith(b"".join(read(str(path))))


def test_a_line_without_an_end_is_cut():
    octets = iter([b"x" * (MAX_LINE_OCTETS + 5), b"y" * 9, b"z\nnext\n", b""])
    got = b"".join(blocks(lambda _: next(octets)))
    assert got == b"x" * MAX_LINE_OCTETS + b"\nnext\n"


def test_folders(tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x.log").write_text("")
    (tmp_path / "a" / "x.pcap.gz").write_text("")
    assert list_files([str(tmp_path)]) == [str(tmp_path / "a" / "x.log")]
    with pytest.raises(FileNotFoundError):
        list_files([str(tmp_path / "b")])
    (tmp_path / "c").mkdir()
    with pytest.raises(ValueError, match="no log files"):
        list_files([str(tmp_path / "c")])


def test_files_that_grow_and_rotate(tmp_path):
    path = tmp_path / "a.log"
    tail = Tail(str(path))
    assert tail.more() == b""
    path.write_bytes(b"one\ntw")
    assert tail.more() == b"one\n"
    assert tail.more() == b""
    with path.open("ab") as out:
        out.write(b"o\n")
    assert tail.more() == b"two\n"
    path.unlink()
    path.write_bytes(b"new\n")
    assert b"".join(tail.more() for _ in range(3)) == b"new\n"
    tail.close()
