import numpy as np

from prism.synth.scenario.specification import Cluster, Fault, Job, Spec
from prism.synth.simulation import simulate

MADE = simulate(Spec(jobs=(Job(dp=4, pp=2, steps=8, micro=4),), faults=(Fault("compute_slow", ranks=(2,), first=3, stop=5),)))
JOB = MADE.truth["jobs"]["A"]


def test_a_job_has_its_layout_ranks_and_groups():
    assert {k: JOB["layout"][k] for k in ("dp", "pp", "tp", "ep")} == {"dp": 4, "pp": 2, "tp": 1, "ep": 1}
    assert [r["ip"] for r in JOB["ranks"]] == list(MADE.topology["endpoints"])[:8]
    assert JOB["groups"]["dp"] == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_steps_end_with_the_rank_s_last_record():
    flows = MADE.flows
    for rank, steps in JOB["steps_wire"].items():
        code = flows.endpoints.index(JOB["ranks"][int(rank)]["ip"])
        own = np.sort(flows.end_ns[(flows.src == code) | (flows.dst == code)])
        for _, begin, end in steps:
            assert abs(own[np.searchsorted(own, end + 1) - 1] - end) <= 1
            assert begin < end


def test_a_fault_says_what_whom_and_when():
    (fault,) = MADE.truth["faults"]
    assert (fault["kind"], fault["ranks"], fault["job"]) == ("compute_slow", [2], "A")
    steps = {k: (begin, end) for k, begin, end in JOB["steps"]["2"]}
    assert (fault["start_ns"], fault["end_ns"]) == (steps[3][0], steps[4][1])


def test_imbalances_and_late_input_have_their_truth():
    job = Job(dp=2, pp=2, steps=8, micro=4)
    faults = (
        Fault("stage_imbalance", stage=1, factor=1.5),
        Fault("data_imbalance", spread=0.2, first=2, stop=6),
        Fault("input_stall", first=4, stop=5, seconds=0.5),
        Fault("uplink_loss", switch="leaf0", first=3, loss=0.02),
    )
    cluster = Cluster(hosts=4, hosts_per_leaf=2)
    truth = simulate(Spec(cluster=cluster, jobs=(job,), faults=faults)).truth
    named = {fault["kind"]: fault for fault in truth["faults"]}
    assert named["stage_imbalance"]["ranks"] == [2, 3]
    assert "ranks" not in named["data_imbalance"]
    assert named["data_imbalance"]["spread"] == 0.2
    assert (named["uplink_throttle"]["switch"], named["uplink_throttle"]["loss"]) == ("leaf0", 0.02)
    (event,) = truth["jobs"]["A"]["events"]
    assert (event[1], event[4]) == ("input_stall", 4)
    assert event[3] - event[2] >= 0.5e9
    steps = {k: (begin, end) for k, begin, end in truth["jobs"]["A"]["steps"]["0"]}
    assert named["data_imbalance"]["start_ns"] <= steps[2][0] < steps[5][1] <= named["data_imbalance"]["end_ns"]
