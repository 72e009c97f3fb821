"""The same report from several processes or machines, whoever dies meanwhile."""

import json
import os
import signal
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from typer.testing import CliRunner

from collectors.columns.record import Flows
from prism.analysis import diagnose
from prism.cli.main import app
from prism.jobs.endpoint_pairs import pairs_of, parts
from prism.recordings.stored_replay import through
from prism.report import json_report
from prism.topology import Topology
from prism.tracking.flow_sources import Memory
from prism.workers.distributed_analysis import StoredSource, diagnose_over
from prism.workers.executors import workers
from tests.collectors.builders import servers
from tests.prism.faults import FAULTS
from tests.prism.played import PCAPS
from tests.prism.traffic import Wire, address, placed, source, training

TOPOLOGY = placed(28)


@pytest.fixture(scope="module")
def flows():
    """Three jobs, one with a slow NIC."""
    wire = FAULTS["slow NIC"](Wire(tcp=True))
    training(dp=4, wire=wire, first=12, work=lambda _step, _rank: 31.0)
    return training(dp=4, wire=wire, first=20, work=lambda _step, _rank: 23.0).flows()


@pytest.fixture(scope="module")
def expected(flows):
    found = diagnose(flows, source(flows), topology=TOPOLOGY)
    assert len(found.jobs) == 3
    assert found.findings
    return json_report.dumps(found)


@pytest.fixture(scope="module")
def cluster():
    """A Dask cluster of two processes, of which one that is killed is started again."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0", host="127.0.0.1") as made:
        yield made


class Dying:
    """Records whose first reader is killed at it; the mark says that it was."""

    def __init__(self, flows: Flows, mark: Path) -> None:
        self.flows, self.mark, self.home = flows, mark, os.getpid()

    def between(self, start_ns, end_ns, *, endpoints=(), limit=None):
        if os.getpid() != self.home and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return Memory(self.flows).between(start_ns, end_ns, endpoints=endpoints, limit=limit)


class DyingAway(StoredSource):
    """Records in a store, whose first reader is killed at it."""

    def between(self, start_ns, end_ns, *, endpoints=(), limit=None):
        where, mark, home = self.where.split("#")
        if os.getpid() != int(home) and not Path(mark).exists():
            Path(mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return StoredSource(where).between(start_ns, end_ns, endpoints=endpoints, limit=limit)


def told(executor, records, flows, **knobs):
    return json_report.dumps(diagnose_over(executor, records, source(flows), topology=TOPOLOGY, **knobs))


@pytest.mark.parametrize("ahead", [1, 16])
def test_threads_give_the_same_result(flows, expected, ahead):
    seen = []
    with ThreadPoolExecutor(2) as pool:
        assert told(pool, Memory(flows), flows, max_pending=ahead, progress=lambda *p: seen.append(p)) == expected
    assert seen[-1] == (3, 3)


def test_jobs_of_one_part_are_analysed_apart(flows):
    """Two jobs share a host: one part."""
    shared = {**TOPOLOGY.endpoints, address(12): TOPOLOGY.endpoints[address(0)]}
    topology, pairs = Topology(shared, TOPOLOGY.links), pairs_of(flows)
    assert [len(part) for part in parts(pairs, topology)] == [16, 4]
    with ThreadPoolExecutor(2) as pool:
        found, away = (
            json_report.dumps(diagnose_over(pool, records, source(flows), topology=topology, pairs=pairs))
            for records in (Memory(flows), Elsewhere(flows))
        )
    assert found == away == json_report.dumps(diagnose(flows, source(flows), topology=topology))
    assert found.count('"parallelism"') == 3


class Elsewhere:
    """Records that a worker has to ask for."""

    def __init__(self, flows: Flows) -> None:
        self._of = Memory(flows)

    def between(self, start_ns, end_ns, *, endpoints=(), limit=None):
        assert endpoints
        return self._of.between(start_ns, end_ns, endpoints=endpoints, limit=limit)


def test_a_process_that_is_killed_loses_nothing(flows, expected, tmp_path):
    dying = Dying(flows, tmp_path / "dead")
    with workers(2) as pool:
        assert told(pool, dying, flows, pairs=pairs_of(flows)) == expected
    assert dying.mark.exists()


def test_records_elsewhere_have_to_be_summed_up(flows):
    with ThreadPoolExecutor(1) as pool, pytest.raises(ValueError, match="sums by pair"):
        told(pool, Elsewhere(flows), flows)


def test_a_dask_cluster_gives_the_same_result_though_a_worker_is_killed(flows, expected, tmp_path, cluster):
    dying = Dying(flows, tmp_path / "dead")
    with workers(1, cluster.scheduler_address) as executor:
        assert told(executor, Memory(flows), flows) == expected
        assert told(executor, dying, flows, pairs=pairs_of(flows)) == expected
    assert dying.mark.exists()


def test_a_server_sums_up_and_a_dask_cluster_s_workers_read_there_though_one_is_killed(flows, expected, tmp_path, cluster):
    pytest.importorskip("chdb")
    capture = str(PCAPS / "slow_nic" / "leaf0.pcap.gz")
    plain, spread = (str(tmp_path / name) for name in ("plain.json", "spread.json"))
    with (
        servers.running(tmp_path / "server") as server,
        workers(1, cluster.scheduler_address) as executor,
    ):
        through(server.url, flows)
        first, last = flows.window
        pairs, mark = StoredSource(server.url).pairs(first, last + 1), tmp_path / "dead"
        dying = DyingAway(f"{server.url}#{mark}#{os.getpid()}")
        assert told(executor, dying, flows, pairs=pairs) == expected
        assert mark.exists()
        asked = ["replay", capture, "--quiet", "--json"]
        here, away = (
            ["--store", str(tmp_path / "store")],
            ["--store", f"{server.url}2", "--scheduler", cluster.scheduler_address],
        )
        for words in ([plain, *here], [spread, *away]):
            shown = CliRunner().invoke(app, [*asked, *words])
            assert shown.exit_code == 0, shown.output
    assert json.loads(Path(spread).read_text()) == json.loads(Path(plain).read_text())
    assert json.loads(Path(plain).read_text())["jobs"]
