from hypothesis import given
from hypothesis import strategies as st

from prism.metrics.prometheus_metrics import notable_series, parse

TEXT = """# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).
# TYPE DCGM_FI_DEV_SM_CLOCK gauge
""" + "".join(f'DCGM_FI_DEV_SM_CLOCK{{gpu="{i}",UUID="GPU-{i}",Hostname="n1"}} {1980 if i != 3 else 1200}\n' for i in range(8))


def test_dcgm():
    samples = list(parse(TEXT.splitlines()))
    assert len(samples) == 8
    [one] = notable_series(samples)
    assert (one.place, one.value, one.ratio) == ("n1 gpu 3", 1200, 0.606)


def test_faults_come_first():
    text = 'DCGM_FI_DEV_XID_ERRORS{gpu="1",Hostname="n2"} 79\nXPU_TIMER_COMMON_HANG{ip="10.0.0.1",rank="4"} 1 1700000000000\n'
    found = notable_series(parse((text + TEXT).splitlines()))
    assert [(one.place, one.what) for one in found[:2]] == [("n2 gpu 1", "hardware"), ("10.0.0.1 rank 4", "hang")]


def xpu_timer(rank, operation, value, level=3):
    labels = f'algorithm="RING_LL",dtype="fp16",ip="NOT_SET",job_name="NOT_SET",level="{level}",local_rank="{rank % 8}"'
    labels += f',operation="{operation}",pod_name="worker-{rank // 8}",rank="{rank}",small="0",transport="InterNode"'
    return f"XPU_TIMER_COLL_KERNEL_BANDWIDTH{{{labels}}} {value}\n"


def test_xpu_timer_compares_ranks_in_one_bucket_of_one_operation():
    text = "# TYPE XPU_TIMER_COLL_KERNEL_BANDWIDTH gauge\n" + "".join(
        xpu_timer(rank, operation, value if rank != 5 or operation == "AllGather" else value / 2, level)
        for rank in range(8)
        for operation, value, level in (("AllReduce", 46, 3), ("AllGather", 30, 3), ("AllReduce", 4, 1))
    )
    text += "".join(f'XPU_TIMER_COMMON_GC_COUNT{{rank="{rank}",ip="NOT_SET"}} {rank}\n' for rank in range(8))
    found = notable_series(parse(text.splitlines()))
    assert [(one.place, one.value, one.ratio) for one in found] == [
        ("worker-0 rank 5", 23, 0.5),
        ("worker-0 rank 5", 2, 0.5),
    ]


@given(st.text(max_size=200))
def test_anything(text):
    notable_series(parse([text, *text.splitlines(), "XPU_TIMER_X " + text]))
