import numpy as np
import pytest

from prism.synth.scenario.cluster import build
from prism.synth.scenario.rank_places import check_apart, place_ranks
from prism.synth.scenario.specification import Cluster, Job

PLANT = build(Cluster(hosts=8, gpus=4))


@pytest.mark.parametrize("kind", ["dp", "tp", "pp", "cp", "ep"])
def test_the_groups_of_a_kind_hold_every_rank_once(kind):
    ranks = place_ranks(Job(dp=4, pp=2, tp=2, cp=2, ep=2), PLANT)
    assert sorted(getattr(ranks, kind).ravel().tolist()) == list(range(32))


def test_groups_are_those_of_megatron():
    named = place_ranks(Job(dp=2, pp=2, tp=2), PLANT).named()
    assert named["tp"] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert named["dp"] == [[0, 2], [1, 3], [4, 6], [5, 7]]
    assert named["pp"] == [[0, 4], [1, 5], [2, 6], [3, 7]]
    moe = place_ranks(Job(dp=8, ep=4), PLANT).named()
    assert moe["ep"] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert moe["edp"] == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert moe["cp"] == []


def test_gradients_are_reduced_over_context_ranks_too():
    assert place_ranks(Job(dp=2, cp=2), PLANT).dp.tolist() == [[0, 1, 2, 3]]


def test_scattered_ranks_put_tensor_partners_on_different_hosts():
    packed, scattered = (place_ranks(Job(dp=8, tp=4, scattered=s), PLANT) for s in (False, True))
    assert (np.ptp(PLANT.host[packed.endpoint[packed.tp]], axis=1) == 0).all()
    assert (np.ptp(PLANT.host[scattered.endpoint[scattered.tp]], axis=1) > 0).all()
    assert len(set(scattered.endpoint.tolist())) == 32


@pytest.mark.parametrize("job", [Job(dp=64), Job(dp=3, ep=2), Job(dp=8, first_host=7)])
def test_what_does_not_fit_is_refused(job):
    with pytest.raises(ValueError, match="job A"):
        place_ranks(job, PLANT)


def test_jobs_share_hosts_and_not_gpus():
    whole, upper = Job(dp=16, gpus_used=2), Job(name="B", dp=16, gpus_used=2, first_gpu=2)
    check_apart((whole, upper), [place_ranks(job, PLANT) for job in (whole, upper)], PLANT)
    shifted = Job(name="B", dp=8, gpus_used=2, first_gpu=1)
    with pytest.raises(ValueError, match=r"jobs A and B are both on GPU 1 of server0, GPU 1 of server1, .* server3; first"):
        check_apart((whole, shifted), [place_ranks(job, PLANT) for job in (whole, shifted)], PLANT)


def test_jobs_of_other_hosts_in_turn_are_apart():
    even, odd = Job(dp=16, host_stride=2), Job(name="B", dp=16, host_stride=2, first_host=1)
    check_apart((even, odd), [place_ranks(job, PLANT) for job in (even, odd)], PLANT)
