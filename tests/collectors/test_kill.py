"""A few of the kills of `python -m tests.collectors.builders.kill`, which see."""

from tests.collectors.builders import kill, servers


def test_collectors_into_the_embedded_store_are_killed(tmp_path):
    found, _ = kill.kill_collectors(str(tmp_path / "store"), tmp_path / "spool", 3)
    assert found > 0


def test_collectors_into_a_server_are_killed(tmp_path):
    with servers.running(tmp_path / "server") as server:
        found, _ = kill.kill_collectors(server.url, tmp_path / "spool", 3)
    assert found > 0


def test_a_server_is_killed(tmp_path):
    with servers.running(tmp_path / "server") as server:
        found, _ = kill.kill_servers(server, tmp_path / "spool", 3)
    assert found > 0


def test_a_server_is_away_for_a_while(tmp_path):
    with servers.running(tmp_path / "server") as server:
        found, waited = kill.leave_servers(server, tmp_path / "spool", 2)
    assert found > waited > 0
