import numpy as np

from prism.model import Job, Layout, Parallelism, Stream
from prism.steps.timeline import reconstruct
from tests.prism.steps.made import MS, buckets


def test_the_timeline_has_steps_and_spans_of_every_rank():
    wire, ends = buckets()
    flows = wire.flows()
    job = Job("j", wire.endpoints, (), *flows.window)
    streams = (Stream("dp", wire.endpoints, np.arange(len(flows))),)
    made = reconstruct(flows, job, Parallelism(Layout(dp=4), (), (), streams=streams))
    assert len(made.spans) == 2 * len(flows)
    for own in made.steps:
        assert np.abs(own[:, 1] - ends).max() <= 5 * MS


def test_a_job_without_records_has_no_steps():
    flows = buckets()[0].flows().take(np.zeros(0, np.intp))
    made = reconstruct(flows, Job("j", ("a0", "a1"), (), 0, 1), Parallelism(Layout(), (), ()))
    assert [len(own) for own in made.steps] == [0, 0]
