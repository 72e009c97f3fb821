from prism.model import Layout
from prism.shape import Shape
from tests.prism.traffic import T0, Wire


def test_a_job_without_groups_is_of_one_dimension_each():
    wire = Wire()
    wire.send(0, 1, 1000, T0)
    shape = Shape(wire.flows(), [0, 1], {0: None, 1: None}, None, [], [], {})
    assert shape.groups() == ()
    assert shape.layout() == Layout(dp=1, pp=1, tp=2, confidence=shape.layout().confidence)
    assert shape.layout().confidence < 0.8


def test_a_pipeline_over_all_endpoints_is_sure():
    wire = Wire()
    for i in range(3):
        wire.send(i, i + 1, 1000, T0)
    shape = Shape(wire.flows(), [0, 1, 2, 3], dict.fromkeys(range(4)), None, [], [[0, 1, 2, 3]], {i: i for i in range(4)})
    assert (shape.layout().pp, shape.layout().dp, shape.layout().tp) == (4, 1, 1)
    assert shape.layout().confidence > 0.9
    assert [group.kind for group in shape.groups()] == ["pp"]
