import json

from hypothesis import given
from hypothesis import strategies as st

from prism.metrics.nccl_inspector import parse, summarise


def row(rank, rate=485.119099, indent=None):
    """As NCCL's README shows it."""
    return json.dumps(
        {
            "header": {"id": "0x7f8c496ae9f661", "rank": rank, "n_ranks": 8, "nnodes": 1},
            "metadata": {"inspector_output_format_version": "v4.0", "hostname": f"host{rank}", "pid": 1},
            "coll_perf": {
                "coll": "AllReduce",
                "coll_sn": 1407,
                "coll_msg_size_bytes": 17179869184,
                "coll_exec_time_us": 61974,
                "coll_algobw_gbs": 277.210914,
                "coll_busbw_gbs": rate,
            },
        },
        indent=indent,
    )


def test_objects_on_one_line_or_several():
    text = "\n".join(row(rank, indent=2 if rank % 2 else None) for rank in range(8))
    rows = list(parse("junk\n" + text))
    assert [one.rank for one in rows] == list(range(8))
    assert rows[0].bus_bits_per_s == 485.119099 * 8e9
    [one] = summarise(rows)
    assert (one.count, one.ranks, one.slow) == (8, 8, ())


def test_a_slow_rank():
    rows = list(parse("\n".join(row(rank, 300 if rank == 5 else 485) for rank in range(8))))
    assert summarise(rows)[0].slow == ((5, "host5", 0.619),)


@given(st.text(max_size=200))
def test_damage(text):
    list(parse(text))
    assert [one.rank for one in parse("{" + text.replace("{", "") + "\n" + row(3))] in ([3], [])
