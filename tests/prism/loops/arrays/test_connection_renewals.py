import numpy as np

from collectors.columns.record import Flows
from prism.loops.arrays.connection_renewals import connections, renewals


def test_a_restart_is_when_all_connections_are_new():
    columns = {name: [] for name in ("start_ns", "end_ns", "src", "dst", "dst_qp", "octets")}
    for k in range(20):
        for src, dst in ((0, 1), (1, 0)):
            late = k >= 12
            row = (100 * k + 500 * late, 100 * k + 50 + 500 * late, src, dst, 7 + src + 100 * late, 1000)
            for name, value in zip(columns, row, strict=True):
                columns[name].append(value)
    arrays = {name: np.array(values, np.int64) for name, values in columns.items()}
    flows = Flows.build(arrays, endpoints=("a", "b"), exporters=("leaf",), paths=((),))
    assert renewals(flows, connections(flows, np.arange(40))).tolist() == [1700]
    assert renewals(flows, connections(flows, np.arange(24))).tolist() == []
    small = [(1200 + 20 * i, 1210 + 20 * i, i % 2, 1 - i % 2, 500 + i, 5) for i in range(12)]  # they find one another
    more = {name: np.append(arrays[name], [row[i] for row in small]) for i, name in enumerate(columns)}
    flows = Flows.build(more, endpoints=("a", "b"), exporters=("leaf",), paths=((),))
    assert renewals(flows, connections(flows, np.arange(52))).tolist() == [*range(1200, 1440, 20), 1700]
    arrays["dst_qp"] = arrays["start_ns"] + 1  # a connection for each message is a habit
    flows = Flows.build(arrays, endpoints=("a", "b"), exporters=("leaf",), paths=((),))
    assert renewals(flows, connections(flows, np.arange(40))).tolist() == []
