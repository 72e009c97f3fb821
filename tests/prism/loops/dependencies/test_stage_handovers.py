import numpy as np
from hypothesis import given as having
from hypothesis import strategies as st

from collectors.columns.record import Flows
from prism.loops.arrays.record_groups import by_group
from prism.loops.dependencies.stage_handovers import OFTEN, Hands, Needs, flushed, handed_on, needs
from tests.prism.traffic import MS, T0, Wire


def needed(given, handed, ends, first):
    """Compute `needs` of unsorted records."""
    came, went = (np.argsort(flows.end_ns, kind="stable") for flows in (given, handed))
    out = np.empty(len(handed), np.int64)
    own = handed.end_ns[went], handed.octets[went], handed.start_ns[went]
    out[went] = needs(given.end_ns[came], given.octets[came], *own, ends, first)
    return out


def all_come(given, handed, ends, often=OFTEN):
    return flushed(given.end_ns, handed.end_ns, handed.start_ns, ends, often)


def naively_needed(given, handed, ends, first):
    """Compute `needs` step by step with arrays."""
    out = np.full(len(handed), -1, np.int64)
    step_in, step_out = (np.searchsorted(ends, flows.end_ns, "left") for flows in (given, handed))
    sorted_in, sorted_out = (np.argsort(flows.end_ns, kind="stable") for flows in (given, handed))
    for k in range(len(ends) + 1):
        rows_in, rows_out = sorted_in[step_in[sorted_in] == k], sorted_out[step_out[sorted_out] == k]
        total_in, total_out = np.cumsum(given.octets[rows_in]), np.cumsum(handed.octets[rows_out])
        if not len(rows_in) or not len(rows_out) or total_in[-1] <= 0 or total_out[-1] <= 0:
            continue
        share = (total_out - handed.octets[rows_out] / 2) / total_out[-1]
        if first:
            share = share - share[handed.start_ns[rows_out] <= given.end_ns[rows_in[0]]].max(initial=0.0)
            rows_out, share = rows_out[share > 0], share[share > 0]
        at = np.minimum(np.searchsorted(total_in / total_in[-1], share), len(rows_in) - 1)
        out[rows_out] = given.end_ns[rows_in[at]]
    return out


handing = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9), st.integers(0, 4)), max_size=20)


def records_of(some):
    start, length, octets = (np.array([one[i] for one in some], np.int64) for i in range(3))
    columns = {"start_ns": start, "end_ns": start + length, "src": start * 0, "dst": start * 0 + 1, "octets": octets}
    return Flows.build(columns, endpoints=("a", "b"))


@having(handing, handing, st.lists(st.integers(0, 70), max_size=4), st.booleans())
def test_what_is_handed_on_needs_what_the_obvious_search_finds(some, others, ends, first):
    given, handed, ends = records_of(some), records_of(others), np.sort(np.array(ends, np.int64))
    assert needed(given, handed, ends, first).tolist() == naively_needed(given, handed, ends, first).tolist()


def test_a_stage_that_awaits_all_needs_all():
    """A stage receives four, and returns the first after all of them, or already after two."""
    for awaited in (4, 2):
        came, went, ends = Wire(jitter_ns=1001), Wire(jitter_ns=1001), []
        for step in range(10):
            at = T0 + step * 1000 * MS
            for k in range(4):
                came.send(0, 1, 1_000_000, at + k * 10 * MS)
                went.send(1, 0, 1_000_000, at + (10 * awaited - 5 + 30 * k) * MS)
            ends.append(at + 900 * MS)
        given, handed = came.flows(), went.flows()
        last = np.repeat(given.end_ns.reshape(10, 4)[:, 3], 4) if awaited == 4 else np.full(40, -1)
        assert all_come(given, handed, np.array(ends)).tolist() == last.tolist()


def naively_flushed(given, handed, ends, often):
    """Compute `flushed` step by step."""
    step_in, step_out = (np.searchsorted(ends, flows.end_ns) for flows in (given, handed))
    came = [given.end_ns[step_in == k] for k in range(len(ends) + 1)]
    step_out = np.array(
        [k - (k > 0 and start < came[k].min(initial=99)) for k, start in zip(step_out, handed.start_ns, strict=True)], int
    )
    went = [handed.start_ns[step_out == k] for k in range(len(ends) + 1)]
    known = [went[k].min() >= came[k].max() for k in range(len(ends) + 1) if len(came[k]) and len(went[k])]
    if not known or np.mean(known) < often:
        return np.full(len(handed), -1)
    return np.array([came[k].max() if len(came[k]) else -1 for k in step_out], np.int64)


@having(handing, handing, st.lists(st.integers(0, 70), max_size=4), st.sampled_from((0.0, 0.5, 0.9)))
def test_what_is_awaited_is_what_the_obvious_search_finds(some, others, ends, often):
    given, handed, ends = records_of(some), records_of(others), np.sort(np.array(ends, np.int64))
    assert all_come(given, handed, ends, often).tolist() == naively_flushed(given, handed, ends, often).tolist()


@having(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 60), st.integers(0, 9), st.integers(0, 4)), max_size=30),
    st.lists(
        st.tuples(st.integers(-1, 2), st.booleans(), st.integers(0, 1), st.sets(st.integers(0, 2))), min_size=3, max_size=3
    ),
    st.lists(st.integers(0, 70), max_size=4).map(sorted),
)
def test_of_many_pairs_each_needs_what_it_does_alone(some, asked, ends):
    """Hand-overs also need all data that the stage waits for first."""
    pair = np.array([one[0] for one in some], np.int64)
    flows = records_of([one[1:] for one in some])
    order, begins = by_group(pair, 3, flows.end_ns)
    gifts = np.cumsum([0, *(len(gives) for *_, gives in asked)])
    gives = np.array([k for *_, gives in asked for k in sorted(gives)], np.int64)
    given, first, rank = (np.array([one[k] for one in asked], kind) for k, kind in enumerate((np.int64, np.bool_, np.int64)))
    every = np.array([*ends, *ends[:1]], np.int64)
    asks = Needs(given, first, rank, every, np.array([0, len(ends), len(every)]), gives, gifts)
    found = handed_on(Hands(begins, flows.start_ns[order], flows.end_ns[order], flows.octets[order]), asks)
    own = [flows.take(order[begins[k] : begins[k + 1]]) for k in range(3)]
    for k, (of, ahead, at, others) in enumerate(asked):
        until = np.array(ends if at == 0 else ends[:1], np.int64)
        need = needed(own[of], own[k], until, ahead) if of >= 0 else np.full(len(own[k]), -1)
        for other in others:
            need = np.where(need >= 0, np.maximum(need, all_come(own[other], own[k], until)), need)
        assert found[begins[k] : begins[k + 1]].tolist() == need.tolist()
