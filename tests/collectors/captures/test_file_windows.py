import gzip
import io

from collectors.captures.file_windows import ADDRESS, AT, END, FILE, FROM, LAST, ROOM, Plain, moved, opened, window
from collectors.files.compression import Stream
from collectors.packets.frame_batch import PAD


def test_a_file_on_disk_is_read_where_it_is(tmp_path):
    (tmp_path / "a").write_bytes(bytes(range(100)))
    with (tmp_path / "a").open("rb") as file:
        file.read(10)
        stream = Stream(opened(file))
        stream.advance(0, 30)
        assert (bytes(stream.buffer[: stream.end]), stream.ended) == (bytes(range(10, 40)), False)
        found = window(stream, 5, 77)
        assert found[[FILE, ADDRESS, ROOM, AT, END, FROM, LAST]].tolist() == [file.fileno(), stream.address, 30, 5, 30, 40, 77]
        stream.buffer[:20] = bytes(range(45, 65))  # as compiled code does: forget the first 35, read 15
        found[[AT, END, FROM]] = 3, 20, 65
        assert (moved(stream, found), stream.start, stream.end) == (3, 35, 20)
        stream.advance(3, 100)
        assert bytes(stream.buffer[: stream.end]) == bytes(range(48, 100))
        assert (stream.start, stream.ended) == (38, True)
        assert len(stream.buffer) >= stream.end + len(PAD)


def test_nothing_else_has_a_window(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"octets"))
    with (tmp_path / "a.gz").open("rb") as packed:
        for source in (opened(packed), opened(io.BytesIO(b"octets"))):
            assert not isinstance(source, Plain)
            stream = Stream(source)
            stream.advance(0, 6)
            assert (bytes(stream.buffer[:6]), window(stream, 0, 0)) == (b"octets", None)
