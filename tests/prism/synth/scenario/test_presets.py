import pytest

from prism.synth.scenario.cluster import build
from prism.synth.scenario.presets import ABOUT, PRESETS
from prism.synth.scenario.rank_places import place_ranks


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_s_jobs_fit_on_its_cluster_and_its_faults_have_a_culprit(name):
    spec = PRESETS[name]
    plant = build(spec.cluster)
    worlds = {job.name: len(place_ranks(job, plant).endpoint) for job in spec.jobs}
    for fault in spec.faults:
        assert fault.switch is None or fault.switch in plant.switches
        assert max(fault.ranks, default=0) < worlds[fault.job]


def test_every_preset_is_told_in_a_line():
    assert list(ABOUT) == list(PRESETS)
    assert all(about and len(about) < 100 for about in ABOUT.values())
