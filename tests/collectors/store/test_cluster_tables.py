import re
from pathlib import Path

from collectors.clickhouse.drivers import opened
from collectors.store.cluster_tables import statements

FILE = Path(__file__).parents[3] / "deploy" / "clickhouse" / "cluster.sql"


def test_the_file_is_what_the_declaration_says():
    assert FILE.read_text() == statements(), "python -m collectors.store.cluster_tables > deploy/clickhouse/cluster.sql"


def test_the_engine_takes_it_but_for_the_cluster(tmp_path):
    """No cluster is here: without its macros and replicas, the real engine creates the same tables and sees what we expect."""
    database = opened(str(tmp_path))
    text = re.sub(r"--.*\n", "", statements()).replace(" ON CLUSTER '{cluster}'", "")
    text = re.sub(r"Replicated(\w+)\('[^']*', '[^']*'(?:, )?", r"\1(", text)
    text = re.sub(r"replicated_deduplication_window = (\d+), \w+ = \d+", r"non_replicated_deduplication_window = \1", text)
    text = re.sub(
        r"ENGINE = Distributed\('[^']*', currentDatabase\(\), '(\w+)', (.*)\)", r"ENGINE = Merge('prism', '^\1$')", text
    )
    for statement in filter(str.strip, text.split(";\n")):
        if not statement.strip().startswith(("INSERT", "USE")):
            database.query(statement)
    kinds = database.query("SELECT name, engine FROM system.tables WHERE database = 'prism' ORDER BY name")
    assert dict(zip(kinds["name"], kinds["engine"], strict=True)) == {
        "flow_pairs": "Merge",
        "flow_pairs_local": "AggregatingMergeTree",
        "flows": "Merge",
        "flows_local": "MergeTree",
        "prism_tables": "Merge",
        "prism_tables_local": "ReplacingMergeTree",
    }
    database.close()
