import gzip

import numpy as np
import pytest
import zstandard

from collectors.exports.counter_names import DATAGRAMS, RECORDS, CounterTable
from collectors.packets.plain_decoder import DecodeError
from collectors.recorded_exports.ipfix_files import is_ipfix, read
from tests.collectors.builders import exports as x
from tests.collectors.builders.exports import ipfix, record, set_, template

MESSAGES = [ipfix(set_(300, record(0))), ipfix(template(300), sequence=1)]
MESSAGES += [ipfix(set_(300, record(i) + record(i + 100)), sequence=2 * i - 1, when=x.WHEN + i) for i in range(1, 60)]
FILE = b"".join(MESSAGES)
LAST, UNREAD = len(FILE) - len(MESSAGES[-1]), "the rest of the file is not read"


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress])
@pytest.mark.parametrize("batch_octets", [1, 333, 1 << 22])
def test_messages_one_after_the_other(tmp_path, pack, batch_octets):
    path = tmp_path / "leaf0.ipfix"
    path.write_bytes(pack(FILE))
    flows, tally, warnings = read(path, batch_octets=batch_octets)
    assert (len(flows), flows.exporters) == (119, ("leaf0",))
    assert np.all(np.diff(flows.start_ns) >= 0)
    assert CounterTable.of(tally, DATAGRAMS).decoded == 61
    assert ({name: n for name, n in tally.items() if "lost" in name}, warnings) == ({}, [])
    assert read(path, exporter="spine1")[0].exporters == ("spine1",)


@pytest.mark.parametrize(
    ("octets", "told", "left"),
    [
        (FILE[:-30], f"offset {LAST}: the file ends inside this message; the records before it were read", 2),
        (
            FILE[: -len(MESSAGES[-1]) + 7],
            f"offset {LAST}: the file ends inside this message; the records before it were read",
            2,
        ),
        (FILE + b"garbage, no message at all", f"offset {len(FILE)}: no IPFIX message starts here; {UNREAD}", 0),
        (
            gzip.compress(FILE)[:-20],
            " of the uncompressed data: the file ends inside this message; the records before it were read",
            None,
        ),
        (
            gzip.compress(FILE)[:-4] + bytes(4),
            f" of the uncompressed data: cannot be read: invalid gzip data (incorrect length check); {UNREAD}",
            None,
        ),
    ],
)
def test_what_comes_before_the_damage_is_kept(tmp_path, octets, told, left):
    path = tmp_path / "a"
    path.write_bytes(octets)
    for batch_octets in (1, 500, 1 << 22):
        flows, tally, (warning,) = read(path, batch_octets=batch_octets)
        assert warning.startswith(f"{path}: offset ")
        assert warning.endswith(told)
        assert left is None or len(flows) == 119 - left
        assert CounterTable.of(tally, RECORDS).unaccounted == 0


@pytest.mark.parametrize(
    "octets", [b"", b"\0\x0a", b"\0\x0a\0\x09" + bytes(20), b"hello, world, and all of it", gzip.compress(b"x")]
)
def test_an_invalid_ipfix_file_is_refused(tmp_path, octets):
    path = tmp_path / "a"
    path.write_bytes(octets)
    assert not is_ipfix(octets[:16])
    with pytest.raises(DecodeError, match="a: not an IPFIX file"):
        read(path)
    with pytest.raises(DecodeError, match="no such file"):
        read(tmp_path / "b")
    with pytest.raises(DecodeError, match="directory"):
        read(tmp_path)
