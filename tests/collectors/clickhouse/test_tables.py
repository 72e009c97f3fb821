import pytest

from collectors.clickhouse.tables import (
    Cluster,
    StoreError,
    Table,
    TableColumn,
    batch_number,
    column_additions,
    create,
    fill_parameters,
    plain_form,
)

LOG = Table(
    "log",
    (
        TableColumn("at_ns", "Int64", codec="DoubleDelta, ZSTD"),
        TableColumn("name", "LowCardinality(String)", plain="String"),
        TableColumn("new", "UInt8", since=2),
        TableColumn("second", "Int64", alias="intDiv(at_ns, 1000000000)"),
    ),
    ("at_ns", "name"),
    time="at_ns",
    keep_s=7 * 86_400,
    version=2,
)


def test_the_full_form_has_everything_and_the_plain_form_what_an_old_server_knows():
    (full,), (plain,) = create(LOG, plain=False), create(LOG, plain=True)
    for words in (
        "CODEC(DoubleDelta, ZSTD)",
        "LowCardinality(String)",
        "TTL toDateTime",
        "non_replicated_deduplication_window",
    ):
        assert words in full
        assert words not in plain
    assert "batch UInt64" in plain
    assert "batch" not in full
    for text in (full, plain):
        assert f"PARTITION BY intDiv(at_ns, {LOG.partition_ns})" in text
        assert "second Int64 ALIAS" in text
    assert 45 <= LOG.keep_s * 10**9 / LOG.partition_ns <= 50


def test_a_cluster_has_replicas_and_a_table_over_them():
    local, spread = create(LOG, plain=False, cluster=Cluster())
    assert "log_local ON CLUSTER '{cluster}'" in local
    assert "ReplicatedMergeTree('/clickhouse/tables/" in local
    assert "replicated_deduplication_window_seconds" in local
    assert "Distributed('{cluster}', currentDatabase(), 'log_local', cityHash64(at_ns, name))" in spread


def test_earlier_versions_get_what_came_since():
    assert column_additions(LOG, 1, plain=True) == (("new", "ALTER TABLE log ADD COLUMN new UInt8"),)
    assert column_additions(LOG, 2, plain=True) == ()


def test_on_a_cluster_replicas_get_it_before_the_table_over_them():
    (_, replicas), (name, spread) = column_additions(LOG, 1, plain=False, cluster=Cluster("c"))
    assert replicas == "ALTER TABLE log_local ON CLUSTER 'c' ADD COLUMN IF NOT EXISTS new UInt8"
    assert (name, spread) == ("new", "ALTER TABLE log ON CLUSTER 'c' ADD COLUMN IF NOT EXISTS new UInt8")


@pytest.mark.parametrize(("version", "plain"), [((18, 16, 1), True), ((21, 8), True), ((22, 3), False), ((26, 9, 2), False)])
def test_the_version_says_the_form(version, plain):
    assert plain_form(version) is plain


def test_a_server_too_old_is_refused():
    with pytest.raises(StoreError, match=r"1\.1 is too old"):
        plain_form((1, 1))


def test_values_are_bound_as_literals():
    values = {"a": "it's\\", "b": -1, "c": ["x", "y"], "d": []}
    assert (
        fill_parameters("{a:String} -{b:Int64} {c:Array(String)} {d:Array(UInt8)}", values)
        == "'it\\'s\\\\' -(-1) ('x', 'y') (NULL)"
    )
    with pytest.raises(KeyError):
        fill_parameters("{e:String}", values)
    with pytest.raises(TypeError):
        fill_parameters("{a:String}", {"a": object()})


def test_a_token_has_one_number():
    assert batch_number("a") == batch_number("a") != batch_number("b")
    assert 0 <= batch_number("a") < 2**64
