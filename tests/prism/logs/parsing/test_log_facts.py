from prism.logs.parsing.line_prefixes import prefix
from prism.logs.parsing.log_facts import Facts, is_fact

LINES = """using world size: 16, data-parallel size: 2, context-parallel size: 1, tensor-model-parallel size: 2
  pipeline_model_parallel_size .................... 4
  hidden_size ..................................... 4096
node1:48:49 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_1:1/RoCE [RO]; OOB eth0:172.30.0.26<0>
node1:48:49 [0] NCCL INFO comm 0x7a rank 5 nranks 16 cudaDev 0 busId 80 commId 0xfa - Init START
node1:48:49 [0] NCCL INFO Channel 00/01 :    0   1   2  3
  host      : node03
  rank      : 3 (local_rank: 0)
[rank2]: last enqueued NCCL work: 100, last completed NCCL work: 99
[rank3]: WorkNCCL(SeqNum=98, OpType=ALLREDUCE, NumelIn=5, NumelOut=5, Timeout(ms)=600000) ran
"""


def test_what_joins_logs_with_flows():
    facts = Facts()
    for line in LINES.splitlines():
        own = prefix(line)
        assert is_fact(own.rest), line
        facts.read(own, None)
    assert facts.sizes == {"world": 16, "dp": 2, "cp": 1, "tp": 2, "pp": 4, "hidden": 4096}
    assert facts.addresses == {"node1": "172.30.0.26"}
    assert facts.hosts == {5: "node1", 3: "node03"}
    assert facts.rings == {0: (0, 1, 2, 3)}
    assert facts.work == {"": {2: 100}, "timed out": {3: 98}}
    assert facts.devices == {"node1/mlx5_0", "node1/mlx5_1"}
    assert facts.behind() == []
    other = Facts()
    other.merge(facts)
    assert other.hosts == facts.hosts
    assert other.library == "nccl"


def test_who_is_behind_in_a_process_group():
    facts = Facts()
    for rank, number in ((0, 120051), (1, 120051), (2, 120048), (3, 120051)):
        line = (
            f"[rank{rank}]:[E626 16:48:25.440 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank {rank}]  failure "
        )
        facts.read(prefix(line + f"PG status: last enqueued work: {number}, last completed work: 120048"), None)
    assert facts.behind() == [2]
    other = Facts()  # numbers that far apart are of different groups
    for rank, number in ((0, 96117), (1, 96117), (7, 64088)):
        other.read(
            prefix(f"[E ProcessGroupNCCL.cpp:458] [Rank {rank}] WorkNCCL(SeqNum={number}, OpType=ALLREDUCE, Timeout(ms)=1)"),
            None,
        )
    assert other.behind() == []
