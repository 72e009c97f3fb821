import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from collectors.columns.record import Flows
from prism.loops.detection.record_density import weights


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from((48, 4096, 9000))), max_size=20),
    st.sampled_from((0.0, 4.5)),
)
def test_octets_are_weighed_as_the_plain_way_says(some, longest):
    lasted, busy, octets = (np.array([one[k] for one in some], np.int64) for k in range(3))
    columns = {"start_ns": lasted * 0, "end_ns": lasted, "src": lasted * 0, "dst": lasted * 0 + 1}
    columns |= {"octets": octets, "busy_ns": busy, "messages": np.ones_like(octets)}
    found = weights(Flows.build(columns, endpoints=("a", "b")), longest, 0.5)
    payload = [one for one in some if one[2] > 48]
    sent = [one for one in payload if one[0] > 0 and one[1] > 0]
    assert found.whole == sum(size for *_, size in payload)
    assert found.long == sum(size for long, _, size in payload if long > longest)
    assert found.sent == sum(size for *_, size in sent)
    assert found.sparse == sum(size for long, moved, size in sent if moved / long < 0.5)
