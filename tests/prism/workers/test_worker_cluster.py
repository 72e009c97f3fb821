import shutil
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import BrokenExecutor

import pytest

from collectors.columns.record import Transits
from prism.analysis import diagnose
from prism.jobs import recognize
from prism.model import Source
from prism.report import json_report
from prism.tracking.flow_sources import Memory
from prism.workers.distributed_analysis import WindowWork, diagnose_over, diagnose_windows
from prism.workers.worker_cluster import Scheduled, checked, scheduled
from tests.prism.played import capture

distributed = pytest.importorskip("distributed")


def cluster(**options):
    given = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "host": "127.0.0.1", "protocol": "tcp://", **options}
    return distributed.LocalCluster(**given)


def port_of(address):
    return int(address.rpartition(":")[2])


def test_work_is_handed_out_refused_while_nobody_is_there_and_handed_out_again():
    first = cluster(n_workers=1, processes=False)
    address = first.scheduler_address
    executor = Scheduled(address, again_s=0.0)
    try:
        assert executor.submit(abs, -3).result(60) == 3
        assert executor.health() == {"ok": True, "reached": True, "working": True, "address": address}
        first.close()
        until = time.monotonic() + 60
        while executor.running and time.monotonic() < until:
            time.sleep(0.01)
        with pytest.raises(BrokenExecutor, match="no scheduler"):
            executor.submit(abs, -3)
        assert not executor.health()["reached"]
        with cluster(n_workers=1, processes=False, scheduler_port=port_of(address)) as second:
            assert second.scheduler_address == address
            assert executor.submit(abs, -4).result(60) == 4
            assert executor.running
    finally:
        executor.shutdown()


def sight():
    flows, _, topology, _ = capture("slow_nic")
    job = recognize(flows, topology)[0]
    source = Source((), 0, len(flows), {}, *flows.window)
    return WindowWork(Memory(flows), *flows.window, (), job, flows.window, source, topology, Transits.empty())


def joined(address, *, knowing=True):
    """A worker in a process of its own, perhaps one that cannot import Prism."""
    begin = "from distributed.cli.dask_worker import main; main()"
    if not knowing:
        begin = f"import sys; sys.modules['prism'] = None; {begin}"
    options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"]
    return subprocess.Popen([sys.executable, "-c", begin, address, *options], stderr=subprocess.DEVNULL)


def lost(executor, call, *args):
    with pytest.raises(BrokenExecutor):
        executor.submit(call, *args).result(60)


def found(executor):
    """What comes of work once somebody does it again."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            return executor.submit(abs, -5).result(60)
        except BrokenExecutor:
            time.sleep(0.05)
    raise AssertionError("nobody")


def test_who_has_no_workers_is_waited_for_once_and_used_when_some_come(caplog):
    glance = sight()
    with (
        cluster(n_workers=0, processes=False) as empty,
        scheduled(empty.scheduler_address, idle_s=0.4) as executor,
    ):
        told, nobody = diagnose_windows(executor, [glance, None])
        assert [one.job.id for one in told.jobs] == [glance.job.id]
        assert nobody is None
        health = executor.health()
        assert (health["ok"], health["reached"], health["working"]) == (True, True, False)
        assert "no worker answered" in health["reason"]
        began = time.monotonic()
        for _ in range(20):
            lost(executor, abs, -3)
        assert time.monotonic() - began < 4.0, "twenty times 0.4 s if each were waited for"
        said = [(one.levelname, one.getMessage()) for one in caplog.records if one.name == "prism-collect"]
        assert [level for level, _ in said if level != "INFO"] == ["WARNING"]
        assert "no worker answers, this process analyses" in said[0][1]
        empty.scale(1)  # beside other work it may answer more slowly than in 0.4 s, and be given up once more
        assert found(executor) == 5
        assert executor.health()["working"]


def test_a_connection_that_ends_within_a_callback_leaves_no_traceback(caplog):
    def lose():
        raise distributed.comm.CommClosedError("a connection ended")

    with cluster(n_workers=0, processes=False) as first:
        executor, over = Scheduled(first.scheduler_address), threading.Event()
        try:
            executor._client.loop.add_callback(lose)
            executor._client.loop.add_callback(over.set)
            assert over.wait(60)
        finally:
            executor.shutdown()
    assert not [record for record in caplog.records if record.exc_info]


def test_files_are_diagnosed_though_there_are_no_workers():
    flows, _, topology, _ = capture("slow_nic")
    source = Source((), 0, len(flows), {}, *flows.window)
    with cluster(n_workers=0, processes=False) as empty, scheduled(empty.scheduler_address, idle_s=0.4) as executor:
        told = diagnose_over(executor, Memory(flows), source, topology=topology)
    assert json_report.dumps(told) == json_report.dumps(diagnose(flows, source, topology=topology))


def test_the_last_worker_dies_and_another_comes():
    with (
        cluster(n_workers=0, processes=False) as empty,
        Scheduled(empty.scheduler_address, idle_s=1.0, again_s=0.0) as executor,
    ):
        with joined(empty.scheduler_address) as worker:
            assert found(executor) == 5
            promised = executor.submit(time.sleep, 600)
            time.sleep(0.5)
            worker.kill()
        with pytest.raises(BrokenExecutor, match="no worker"):
            promised.result(60)
        with joined(empty.scheduler_address) as worker:
            assert found(executor) == 5
            worker.kill()


def test_long_work_is_waited_for_while_a_worker_is_at_it():
    with cluster(n_workers=1, processes=False) as one, scheduled(one.scheduler_address, idle_s=1.5) as executor:
        assert executor.submit(time.sleep, 4.0).result(60) is None
        assert executor.health()["working"]


def test_a_machine_that_stood_still_has_lost_no_worker(monkeypatch):
    with cluster(n_workers=1, processes=False) as one, scheduled(one.scheduler_address, idle_s=2.0) as executor:
        checks, worked_on = [], executor._worked_on

        def late(names):
            checks.append(names)
            return worked_on(names) if len(checks) > 1 else bool(time.sleep(2.5))

        monkeypatch.setattr(executor, "_worked_on", late)
        assert executor.submit(time.sleep, 4.0).result(60) is None
        assert len(checks) > 1


def test_workers_that_cannot_import_the_work_are_none():
    with (
        cluster(n_workers=0, processes=False) as empty,
        Scheduled(empty.scheduler_address, idle_s=1.0, again_s=0.0) as executor,
    ):
        with joined(empty.scheduler_address, knowing=False) as worker:
            empty.wait_for_workers(1, timeout=60)
            (told,) = diagnose_windows(executor, [sight()])
            assert told.jobs
            assert not executor.health()["working"]
            worker.kill()
        with joined(empty.scheduler_address) as worker:
            assert found(executor) == 5
            worker.kill()


def test_what_work_raises_is_raised_here():
    with cluster(n_workers=1, processes=False) as one, scheduled(one.scheduler_address) as executor:
        with pytest.raises(ZeroDivisionError):
            executor.submit(divmod, 1, 0).result(60)
        assert executor.health()["working"]


def test_addresses_that_can_be_none_are_refused():
    wrong = ["foo", "tcp://", "tcp://127.0.0.1", "tcp://127.0.0.1:0", "tcp://127.0.0.1:99999", "tcp://[::1:1", "tcp://:8786"]
    for address in [*wrong, "http://127.0.0.1:8786", "inproc://x", "tcp://a b:1", "tcp://127.0.0.1:8786/x", "127.0.0.1:8786"]:
        with pytest.raises(ValueError, match="tcp://HOST:PORT"):
            checked(address)
    with pytest.raises(ValueError, match="certificates"):
        checked("tls://127.0.0.1:8786")
    for address in ("tcp://127.0.0.1:8786", "tcp://[::1]:8786", "tcp://dask:8786"):
        assert checked(address) == address


def test_tls_is_an_address_where_there_are_certificates(tmp_path):
    dask = pytest.importorskip("dask")
    key, certificate = (str(tmp_path / name) for name in ("key.pem", "cert.pem"))
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=prism", "-keyout", key, "-out", certificate]
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    subprocess.run(["openssl", *words], check=True, capture_output=True)
    ours = {"ca-file": certificate, "client.key": key, "client.cert": certificate}
    with dask.config.set({f"distributed.comm.tls.{name}": path for name, path in ours.items()}):
        assert checked("tls://127.0.0.1:8786")
        with dask.config.set({"distributed.comm.require-encryption": True}), pytest.raises(ValueError, match="use tls"):
            checked("tcp://127.0.0.1:8786")
        with (
            dask.config.set({"distributed.comm.tls.ca-file": str(tmp_path / "none")}),
            pytest.raises(ValueError, match="cannot be read"),
        ):
            checked("tls://127.0.0.1:8786")


def test_who_is_no_scheduler_is_an_error_soon():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = "tcp://{}:{}".format(*silent.getsockname())
        with pytest.raises(OSError, match=address), scheduled(address, patience_s=0.5):
            pass
    with cluster(n_workers=1, processes=False) as one:
        (worker,) = one.workers.values()
        with pytest.raises(OSError, match="is not a Dask scheduler"), scheduled(worker.address, patience_s=5.0):
            pass


def test_no_scheduler_is_an_error_at_once():
    with pytest.raises(OSError, match=r"127\.0\.0\.1:9"), scheduled("tcp://127.0.0.1:9", patience_s=0.2):
        pass
