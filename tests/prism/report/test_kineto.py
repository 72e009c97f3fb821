import json
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from prism import topology
from prism.model import NO_PHASES, PHASES, Group
from prism.recordings.file_analysis import replay as diagnose
from prism.report import _kineto as kineto
from prism.report.trace_files import write

PCAPS = Path(__file__).parents[3] / "pcaps"
READ = """
import json, logging, sys
logging.disable(logging.CRITICAL)
from hta.trace_analysis import TraceAnalysis
from hta.utils.validate_trace import validate_trace_format
told = TraceAnalysis(trace_dir=sys.argv[1])
breakdown = told.get_temporal_breakdown(visualize=False)
json.dump({
    "breakdown": breakdown.set_index("rank").to_dict("index"),
    "steps": [int(step) for step in told.get_profiler_steps()],
    "overlap": told.get_comm_comp_overlap(visualize=False)["comp_comm_overlap_pctg"].tolist(),
    "stragglers": [int(rank) for rank in told.get_potential_stragglers()],
    "valid": validate_trace_format(sys.argv[1] + "/rank0.json", level="complete")[0],
}, sys.stdout)
"""


@pytest.fixture
def made(make_job):
    return {name: json.loads(text) for name, text in kineto.files(make_job("job-1"))}


def test_a_file_per_rank_names_its_groups(made):
    assert list(made) == [f"rank{r}.json" for r in range(8)]
    about = made["rank3.json"]["distributedInfo"]
    assert (about["rank"], about["world_size"], about["pg_count"]) == (3, 8, 3)
    assert [(g["pg_desc"], g["ranks"]) for g in about["pg_config"]] == [
        ("default_pg", list(range(8))),
        ("dp", [2, 3]),
        ("pp", [1, 3, 5, 7]),
    ]


def test_kernels_of_a_stream_follow_one_another_and_each_was_launched_in_its_step(made, make_job):
    for rank, trace in enumerate(made.values()):
        events = trace["traceEvents"]
        steps = [e for e in events if e["name"].startswith("ProfilerStep#")]
        assert [e["name"] for e in steps] == [f"ProfilerStep#{i}" for i in range(20)]
        kernels = [e for e in events if e.get("cat") == "kernel"]
        launched = {e["args"]["correlation"]: e["ts"] for e in events if e.get("cat") == "cuda_runtime"}
        assert {e["args"]["correlation"]: e["ts"] for e in kernels} == launched
        assert len(launched) == len(kernels) == 40
        for before, after in pairwise(kernels):
            assert before["ts"] + before["dur"] <= after["ts"]
        reduced = [e for e in kernels if e["name"] == "ncclKernel_AllReduce"]
        assert len(reduced) == 20
        assert reduced[0]["args"]["Collective name"] == "allreduce"
        assert reduced[0]["args"]["Process Group Ranks"] == str([rank // 2 * 2, rank // 2 * 2 + 1])
    assert trace["baseTimeNanoseconds"] == make_job("job-1").timeline.phases.start_ns.min()


def test_of_two_groups_of_a_kind_nobody_says_which(make_job):
    found = make_job("job-1")
    more = Group("dp", found.job.endpoints[:4], "traffic", 0.9)
    found = replace(found, parallelism=replace(found.parallelism, groups=(*found.parallelism.groups, more)))
    kernels = [e for e in json.loads(next(kineto.files(found))[1])["traceEvents"] if e["name"] == "ncclKernel_AllReduce"]
    assert "Process Group Ranks" not in kernels[0]["args"]
    assert kernels[0]["args"]["Collective name"] == "allreduce"


def test_a_job_without_steps_has_no_files(make_job):
    found = make_job("job-1")
    assert list(kineto.files(replace(found, timeline=replace(found.timeline, phases=NO_PHASES)))) == []


def times(found, rank):
    """What HolisticTraceAnalysis counts: all steps but the last, from the first kernel to the end of the last, ns."""
    worked = found.timeline.phases
    last = len(found.timeline.steps[rank]) - 1
    own = (worked.rank == rank) & (worked.step < last)
    length, phase = (worked.end_ns - worked.start_ns)[own], worked.phase[own]
    busy = np.flatnonzero(phase != PHASES.index("idle"))
    length, phase = length[busy[0] : busy[-1] + 1], phase[busy[0] : busy[-1] + 1]
    work = np.isin(phase, [PHASES.index(name) for name in kineto.WORK])
    idle = phase == PHASES.index("idle")
    return {"compute": length[work].sum(), "non_compute": length[~work & ~idle].sum(), "idle": length[idle].sum()}


def test_holistic_trace_analysis_counts_what_prism_counts(tmp_path):
    pytest.importorskip("hta")
    folder = PCAPS / "slow_rank"
    placed = topology.parse((folder / "topology.json").read_text(), "topology.json")
    diagnosis = diagnose(
        [(path.name.split(".")[0], str(path)) for path in sorted(folder.glob("*.pcap.gz"))], placed, lambda *_: None
    )
    (found,) = diagnosis.jobs
    assert write(f"{tmp_path}/traces/", diagnosis) == []
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", READ, str(tmp_path / "traces" / f"job-{found.job.id}")],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(done.stdout)
    assert told["valid"]
    assert told["steps"] == list(range(len(found.timeline.steps[0]) - 1))
    assert told["overlap"] == [0.0] * 8
    assert set(told["stragglers"]) <= set(range(8))
    for rank, shown in told["breakdown"].items():
        ours = times(found, int(rank))
        for name, ns in ours.items():
            assert shown[f"{name}_time(us)"] == pytest.approx(ns / 1000, abs=len(found.timeline.phases) / 8)
    busiest = max(told["breakdown"], key=lambda rank: told["breakdown"][rank]["compute_time_pctg"])
    assert found.job.endpoints[int(busiest)] in diagnosis.findings[0].ids  # the slow rank computes most, others wait
