from prism.logs.facts import Facts, is_fact
from prism.logs.prefixes import prefix

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
    assert facts.enqueued == {2: 100, 3: 98}
    assert facts.devices == {"node1/mlx5_0", "node1/mlx5_1"}
    other = Facts()
    other.merge(facts)
    assert other.hosts == facts.hosts
    assert other.library == "nccl"
