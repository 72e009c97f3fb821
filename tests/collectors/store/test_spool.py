import json
import resource
import struct
import tempfile
import time
import zlib

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.clickhouse.tables import StoreError
from collectors.columns.record import COLUMNS, Flows
from collectors.store.spool import DAMAGED, HEADER, Spool, SpoolFullError
from tests.collectors.builders import stores

NOW = 1_795_214_542_677_184_076


def test_a_batch_comes_back_as_it_was_after_a_restart(tmp_path):
    spool, flows = Spool(tmp_path), stores.flows(1000, now_ns=NOW)
    batch = spool.add(flows)
    with pytest.raises(StoreError, match="in use by process"):
        Spool(tmp_path)
    spool.close()
    again = Spool(tmp_path)
    assert again.first() == batch
    assert (again.records, len(again)) == (1000, 1)
    assert again.first().token == batch.token
    assert stores.meant(again.read(batch)) == stores.meant(flows)
    assert again.oldest_s(time.time_ns()) >= 0
    again.remove(batch)
    assert (again.records, again.octets, again.first()) == (0, 0, None)
    again.close()


def test_batches_have_tokens_of_their_own_and_are_in_order(tmp_path):
    spool = Spool(tmp_path)
    made = [spool.add(stores.flows(10, now_ns=NOW)) for _ in range(5)]
    assert made == sorted(made)
    assert len({batch.token for batch in made}) == 5
    spool.close()


@pytest.mark.parametrize("where", [0, 8, 30, 0.5, -1])
def test_a_damaged_batch_is_put_aside_and_counted(tmp_path, where):
    spool = Spool(tmp_path)
    made = [spool.add(stores.flows(100 + i, now_ns=NOW)) for i in range(3)]
    path = tmp_path / made[1].name
    octets = bytearray(path.read_bytes())
    octets[int(where * len(octets)) if isinstance(where, float) else where] ^= 0xFF
    path.write_bytes(octets)
    assert [len(flows) if flows else None for flows in map(spool.read, made)] == [100, None, 102]
    assert spool.read(made[1]) is None
    assert spool.dropped == {DAMAGED: 101}
    assert len(spool) == 2
    assert (tmp_path / (made[1].name + ".bad")).exists()
    spool.close()


def test_a_batch_that_is_cut_short_or_gone_is_counted(tmp_path):
    spool = Spool(tmp_path)
    made = [spool.add(stores.flows(100, now_ns=NOW)) for _ in range(3)]
    (tmp_path / made[0].name).write_bytes(b"")
    (tmp_path / made[1].name).unlink()
    (tmp_path / made[2].name).write_bytes((tmp_path / made[2].name).read_bytes()[:-1])
    assert [spool.read(batch) for batch in made] == [None] * 3
    assert spool.dropped == {DAMAGED: 300}
    spool.close()


STRANGE = (
    "notes.rows",
    ".rows",
    "1-2-3-4.rows",
    f"{NOW:020}-0123456789abcdef-00000001-0.rows",
    f"{NOW:020}-0123456789abcdef-00000001-{'9' * 200}.rows",
    f"{NOW:020}-0123456789abcdef-00000001--5.rows",
    f"{'9' * 220}-0123456789abcdef-00000001-5.rows",
    f"{NOW:020}-0123456789abcdef-00000001-\u0665.rows",
    "line\nbreak.rows",
)


def test_parts_are_removed_and_other_files_are_left(tmp_path):
    for name in ("1-2-3-4.rows.part", "notes.txt", "notes.part"):
        (tmp_path / name).write_bytes(b"x")
    spool = Spool(tmp_path)
    assert (len(spool), spool.strange) == (0, 0)
    assert {path.name for path in tmp_path.iterdir()} == {"notes.txt", "notes.part", "prism.lock"}
    spool.close()


def test_files_that_are_no_batches_are_set_aside_once_and_the_others_go_on(tmp_path, caplog):
    for name in STRANGE:
        (tmp_path / name).write_bytes(b"x")
    whole = f"{NOW:020}-0123456789abcdef-{{:08}}-5.rows"
    (tmp_path / whole.format(1)).write_bytes(b"")
    (tmp_path / whole.format(2)).mkdir()
    (tmp_path / whole.format(3)).symlink_to("/dev/zero")
    (tmp_path / "notes.rows.bad").write_bytes(b"from before")
    count = len(STRANGE) + 3
    spool = Spool(tmp_path)
    assert (len(spool), spool.records, spool.strange) == (0, 0, count)
    assert len([one for one in caplog.records if "spool file set aside" in one.getMessage()]) == count
    assert not list(tmp_path.glob("*.rows"))
    assert (tmp_path / "notes.rows.bad").read_bytes() == b"from before"
    assert (tmp_path / "notes.rows.bad1").read_bytes() == b"x"
    batch = spool.add(stores.flows(10, now_ns=NOW))
    assert len(spool.read(batch)) == 10
    spool.close()
    again = Spool(tmp_path)
    assert (again.strange, again.records) == (0, 10)
    again.close()


def test_a_batch_that_may_not_be_read_is_set_aside(tmp_path, caplog):
    spool = Spool(tmp_path)
    made = [spool.add(stores.flows(10 + i, now_ns=NOW)) for i in range(2)]
    (tmp_path / made[0].name).unlink()
    (tmp_path / made[0].name).mkdir()  # an error of the disk, also for root
    assert spool.read(made[0]) is None
    assert spool.dropped == {DAMAGED: 10}
    assert "spool file set aside" in caplog.text
    assert len(spool.read(spool.first())) == 11
    spool.close()


def test_codes_that_name_nothing_are_damage(tmp_path):
    spool = Spool(tmp_path)
    flows = stores.flows(10, now_ns=NOW)
    batch = spool.add(flows)
    table = pa.ipc.open_stream((tmp_path / batch.name).read_bytes()[HEADER.size :]).read_all()
    told = json.loads(table.schema.metadata[b"prism"]) | {"endpoints": ["10.0.0.1"]}
    sink = pa.BufferOutputStream()
    table = table.replace_schema_metadata({"prism": json.dumps(told)})
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    body = sink.getvalue().to_pybytes()
    (tmp_path / batch.name).write_bytes(HEADER.pack(b"PRISMSP1", 2, len(body), zlib.crc32(body)) + body)
    assert spool.read(batch) is None
    spool.close()


def test_it_is_bounded(tmp_path):
    spool = Spool(tmp_path, octets=100_000)
    flows, size = stores.flows(500, now_ns=NOW), 0
    while spool.octets + size < 100_000:
        spool.add(flows)
        size = spool.octets // len(spool)
    with pytest.raises(SpoolFullError):
        spool.add(flows)
    assert 0 < spool.octets <= 100_000
    spool.close()


def test_what_the_disk_refuses_is_not_there_in_part(tmp_path):
    spool = Spool(tmp_path)
    spool.add(stores.flows(10, now_ns=NOW))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(OSError, match="too large"):
            spool.add(stores.flows(5000, now_ns=NOW))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (spool.records, len(spool)) == (10, 1)
    assert len(list(tmp_path.glob("*-*"))) == 1
    spool.close()


def test_files_of_the_first_version_are_read(tmp_path):
    flows = stores.flows(500, now_ns=NOW)
    books = {name: getattr(flows, name) for name in ("endpoints", "exporters", "paths")}
    table = pa.table({c.name: getattr(flows, c.name) for c in COLUMNS})
    table = table.replace_schema_metadata({"prism": json.dumps(books)})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression="lz4")) as writer:
        writer.write_table(table)
    body = sink.getvalue().to_pybytes()
    header = struct.pack("<8sIQI", b"PRISMSP1", 1, len(body), zlib.crc32(body))
    (tmp_path / f"{NOW:020}-0123456789abcdef-00000001-500.rows").write_bytes(header + body)
    spool = Spool(tmp_path)
    assert stores.meant(spool.read(spool.first())) == stores.meant(flows)
    spool.close()


@given(
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=8), st.lists(st.integers(0, 255), min_size=1, max_size=8)
)
def test_any_number_comes_back(wide, narrow):
    count = min(len(wide), len(narrow))
    columns = {"start_ns": wide[:count], "octets": wide[::-1][:count], "protocol": narrow[:count], "end_ns": wide[:1] * count}
    flows = Flows.build(columns, endpoints=("10.0.0.1",), exporters=("leaf0",))
    with tempfile.TemporaryDirectory() as folder:
        spool = Spool(folder)
        assert stores.meant(spool.read(spool.add(flows))) == stores.meant(flows)
        spool.close()


def test_only_the_endpoints_that_are_named_are_kept(tmp_path):
    flows = stores.flows(3, now_ns=NOW).take(np.array([0]))
    spool = Spool(tmp_path)
    assert len(spool.read(spool.add(flows)).endpoints) <= 2
    spool.close()
