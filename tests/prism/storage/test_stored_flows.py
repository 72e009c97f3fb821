import time

import numpy as np
import pytest

from collectors.clickhouse.drivers import opened
from collectors.store.store_sink import Storing
from prism.storage.stored_flows import StoredRecords
from prism.tracking.flow_sources import Memory
from tests.collectors.builders import servers, stores

NOW = time.time_ns()
SPAN = 200 * 10**9


@pytest.fixture(scope="module", params=["embedded", "server"])
def both(request, tmp_path_factory):
    """The same records in a store and in memory."""
    folder = tmp_path_factory.mktemp("store")
    flows = stores.flows(5000, now_ns=NOW, span_ns=SPAN)

    def filled(where):
        sink = Storing(where, folder / "spool", rows=1000)
        sink.write(flows)
        sink.close(patience_s=60)
        assert sink.records_by_result()["stored"] == 5000
        return opened(where)

    if request.param == "embedded":
        database = filled(str(folder / "store"))
        yield StoredRecords(database), Memory(flows), flows
        database.close()
        return
    with servers.running(folder / "server") as server:
        database = filled(server.url)
        yield StoredRecords(database), Memory(flows), flows
        database.close()


@pytest.mark.parametrize(("start", "end"), [(NOW - SPAN // 2, NOW), (NOW - SPAN, NOW - 10**9), (NOW, NOW), (0, 2**62)])
def test_the_store_says_what_memory_says(both, start, end):
    stored, memory, _ = both
    assert stores.meant(stored.between(start, end)) == stores.meant(memory.between(start, end))
    some = [*stores.ENDPOINTS[:100], "fe80::1", "10.9.9.9", "nobody"]
    found = stored.between(start, end, endpoints=some)
    assert stores.meant(found) == stores.meant(memory.between(start, end, endpoints=some))
    assert np.all(np.diff(found.start_ns) >= 0)
    assert stored.between(start, end, limit=7).start_ns.tolist() == memory.between(start, end, limit=7).start_ns.tolist()
    assert len(stored.between(start, end, endpoints=["nobody"])) == 0


@pytest.mark.parametrize(("start", "end"), [(NOW - SPAN // 2, NOW), (NOW - 10**9, NOW), (0, 2**62), (NOW, NOW)])
def test_pairs_are_added_up_where_the_rows_are(both, start, end):
    stored, memory, _ = both
    flows, found = memory.between(start, end), stored.pairs(start, end)
    columns = zip(found.src, found.dst, found.octets.tolist(), found.records.tolist(), strict=True)
    known = {(found.endpoints[s], found.endpoints[d]): (o, n) for s, d, o, n in columns}
    assert known == stores.pairs(flows)
    if len(flows):
        assert found.first_ns.min() == flows.start_ns.min()
        assert found.last_ns.max() == flows.end_ns.max()
