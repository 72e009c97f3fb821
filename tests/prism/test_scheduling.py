import time
from concurrent.futures import BrokenExecutor

import pytest

from collectors.record import Transits
from prism.jobs import recognize
from prism.model import Source
from prism.records import Memory
from prism.scheduling import Scheduled, scheduled
from prism.spread import Glance, all_glanced
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
        assert executor.health() == {"ok": True, "reached": True, "address": address}
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


def test_who_has_no_workers_is_waited_for_and_no_longer():
    flows, _, topology, _ = capture("slow_nic")
    job = recognize(flows, topology)[0]
    source = Source((), 0, len(flows), {}, *flows.window)
    glance = Glance(Memory(flows), *flows.window, (), job, flows.window, source, topology, Transits.empty())
    with cluster(n_workers=0, processes=False) as empty, scheduled(empty.scheduler_address) as executor:
        told, nobody = all_glanced(executor, [glance, None], patience_s=0.2)
    assert [one.job.id for one in told.jobs] == [job.id]
    assert nobody is None


def test_no_scheduler_is_an_error_at_once():
    with pytest.raises(OSError, match=r"127\.0\.0\.1:9"), scheduled("tcp://127.0.0.1:9", patience_s=0.2):
        pass
