import pytest

from prism.layout.likelihood import fit, rounds_fit
from tests.prism.evidence.made import data_parallel, evidence, pipelined


def test_a_pipeline_fits_a_pipeline_best_and_a_ring_a_reduction():
    _, _, _, (gradients, hands) = evidence(pipelined())
    assert fit("pp", hands) > max(fit(kind, hands) for kind in ("dp", "tp", "cp", "ep"))
    assert fit("dp", gradients) > max(fit(kind, gradients) for kind in ("pp", "tp", "cp", "ep"))


OTHERS = {4: (6, 9, 16), 8: (4, 6, 16), 16: (8, 9, 12)}  # of which rings would send other numbers of messages


@pytest.mark.parametrize("ranks", OTHERS)
def test_the_number_of_messages_tells_the_size_of_the_ring(ranks):
    _, _, _, (family,) = evidence(data_parallel(hosts=ranks))
    assert rounds_fit(family, ranks) > 0
    assert rounds_fit(family, ranks) > max(rounds_fit(family, other) for other in OTHERS[ranks])
