import numpy as np

from benchmarks import kinds
from benchmarks.kinds import NAMES, Example, block_of, fitted, kind_of, row
from prism.layout.constants import SCORED
from tests.benchmarks.test_sensitivity import folder  # noqa: F401
from tests.prism.evidence.made import data_parallel, evidence, pipelined


def example(origin, kind, **traits):
    seen = {"always": 1.0, **traits}
    return Example(origin, np.array([seen.get(name, 0.0) for name in NAMES]), SCORED.index(kind))


def test_the_table_tells_kinds_apart_by_what_differs():
    known = [example(o, kind, messages=many) for o in "ab" for kind, many in (("dp", 0.0), ("tp", 3.0)) for _ in range(4)]
    right, log = row(known, fitted(known, 0.1), np.zeros(len(SCORED)))
    assert right == 1
    assert log > -0.2


def test_the_kind_of_a_family_is_that_of_the_groups_around_it():
    _, _, _, (gradients, hands) = evidence(pipelined(stages=4, replicas=2))
    stage = {m: m % 4 for m in range(8)}
    replica = {m: m // 4 for m in range(8)}
    assert kind_of(gradients, {"dp": stage, "pp": replica}) == "dp"
    assert kind_of(hands, {"dp": stage, "pp": replica}) == "pp"
    assert kind_of(gradients, {}) is None


def test_a_reduction_over_experts_is_none_of_both():
    _, _, _, (family,) = evidence(data_parallel(hosts=4))
    one = dict.fromkeys(range(4), 0)
    assert kind_of(family, {"dp": one}) == "dp"
    assert kind_of(family, {"dp": one, "ep": one}) is None
    assert kind_of(family, {"ep": one}) == "ep"
    assert kind_of(family, {"cp": one}) == "cp"
    assert kind_of(family, {"tp": one}) == "tp"


def test_context_inside_data_groups_is_told_by_its_recorded_block():
    _, _, _, (family,) = evidence(data_parallel(hosts=4, octets=4_000_000))
    one = dict.fromkeys(range(4), 0)
    run = {"info": {"args": {"cp": 4, "cpb": 2_000_000, "cpk": "ring"}}}
    assert kind_of(family, {"dp": one, "cp": one}, block_of(run)) == "cp"
    assert kind_of(family, {"dp": one, "cp": one}, 3_000_000) == "dp"
    assert kind_of(family, {"dp": one, "cp": one}, block_of({})) is None
    assert kind_of(family, {"dp": dict.fromkeys(range(8), 0), "cp": one}) == "cp"  # gradients are reduced over the plane
    assert block_of({"info": {"args": {"cp": 4, "cpb": 2_000_000, "cpk": "a2a"}}}) == 500_000


def test_captures_become_a_table(folder, capsys):  # noqa: F811
    assert kinds.main([str(folder)]) == 0
    text = capsys.readouterr().out.splitlines()
    assert text[0].split()[:2] == ["origin", "table"]
    assert len(text) == 1 + 2 + 1 + len(NAMES) + 1
    assert text[-1].startswith("sharded: ")


def test_nothing_to_read_is_said(tmp_path, capsys):
    assert kinds.main([str(tmp_path)]) == 2
    assert "no capture" in capsys.readouterr().err
