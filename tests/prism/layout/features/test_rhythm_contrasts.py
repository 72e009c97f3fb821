from prism.layout.features.rhythm_contrasts import rhythms_differ
from tests.prism.evidence.made import Wire, evidence


def family(rounds, every=1000, steps=8):
    """Return a ring of four that reduces `rounds` times per step, in equal distances."""
    wire = Wire([f"a{i}" for i in range(4)])
    for step in range(steps):
        for k in range(rounds):
            wire.ring([0, 1, 2, 3], step * every + k * 0.8 * every / rounds, 1_000_000, rounds=3)
    (own,) = evidence(wire)[3]
    return own


def stages(batches):
    wire = Wire(["a", "b"])
    for step in range(8):
        for k in range(batches):
            wire.send(0, 1, step * 1000 + 50 * k, 2_000_000)
            wire.send(1, 0, step * 1000 + 500 + 50 * k, 2_000_000)
    (own,) = evidence(wire)[3]
    return own


def test_a_group_does_not_reduce_gradients_in_every_layer_and_once_per_step():
    often, once = family(12), family(1)
    assert dict(rhythms_differ([often, once], ("dp", "dp")))["other_rhythm"] > 0.5
    assert dict(rhythms_differ([often, once], ("tp", "dp"))) == {}


def test_parameters_are_gathered_twice_as_often_as_gradients_are_reduced():
    assert dict(rhythms_differ([family(12), family(6)], ("dp", "dp"))) == {"other_rhythm": 0.0}


def test_gradients_are_not_reduced_in_each_micro_batch():
    often, once, piped = family(12), family(1), stages(4)
    assert dict(rhythms_differ([often, piped], ("dp", "pp")))["every_batch"] == 1.0
    assert dict(rhythms_differ([once, piped], ("dp", "pp")))["every_batch"] == 0.0
    assert dict(rhythms_differ([often, piped], ("tp", "pp"))) == {"every_batch": 0.0}
