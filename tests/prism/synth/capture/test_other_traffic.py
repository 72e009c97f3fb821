from dataclasses import replace

import numpy as np
import pytest

from prism.synth.scenario.specification import Cluster, Job, Nuisances, Spec
from prism.synth.simulation import simulate

JOB = Job(dp=8, steps=6, gradient_octets=1_000_000)
SPEC = Spec(cluster=Cluster(hosts=10), jobs=(JOB,))


def between(flows, src, dst):
    names = np.array(flows.endpoints)
    return flows.take(np.char.startswith(names[flows.src], src) & np.char.startswith(names[flows.dst], dst))


def test_ranks_read_from_storage_in_every_step():
    flows = simulate(replace(SPEC, jobs=(replace(JOB, storage_octets=50_000),))).flows
    read = between(flows, "10.9.0.1", "10.10.")
    assert (read.octets > 40_000).sum() == 8 * 6
    assert len(np.unique(read.dst_port)) > 0


@pytest.mark.parametrize(("everyone", "writers"), [(False, 1), (True, 8)])
def test_checkpoints_are_written_while_the_job_pauses(everyone, writers):
    job = replace(JOB, checkpoint_every=3, checkpoint_octets=10_000_000, checkpoint_all=everyone)
    made = simulate(replace(SPEC, jobs=(job,)))
    written = between(made.flows, "10.10.", "10.9.0.1")
    written = written.take(written.octets > 1_000_000)
    (event,) = made.truth["jobs"]["A"]["events"]
    assert len(written) == writers
    assert (written.start_ns >= event[2]).all()
    assert (written.end_ns <= event[3] + 50_000_000).all()


def test_background_and_monitoring_touch_no_training():
    quiet = simulate(SPEC).flows
    loud = simulate(replace(SPEC, nuisances=Nuisances(bulk_gbit=1.0, monitor=True))).flows
    assert len(between(loud, "10.9.2.1", "10.10.")) == len(between(loud, "10.10.", "10.9.2.1")) > 0
    assert between(loud, "10.9.1.2", "10.9.1.1").octets.sum() > 0
    assert len(between(loud, "10.10.", "10.10.")) == len(quiet)


def test_a_copy_inside_needs_idle_endpoints():
    inside = Nuisances(bulk_gbit=1.0, bulk_inside=True)
    assert between(simulate(replace(SPEC, nuisances=inside)).flows, "10.10.8.", "10.10.9.").octets.sum() > 0
    with pytest.raises(ValueError, match="outside all jobs"):
        simulate(replace(SPEC, cluster=Cluster(hosts=8), nuisances=inside))
