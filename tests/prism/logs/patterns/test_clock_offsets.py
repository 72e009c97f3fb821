from prism.logs.parsing.iterations import Mark
from prism.logs.patterns._clock_offsets import describe_offset, offsets

S = 10**9


def marks(ahead, n=6):
    return [Mark(i, i, i * S + ahead) for i in range(n)]


def test_clocks_that_differ_by_more_than_a_step():
    found = offsets({"a": marks(0, 8), "b": marks(3600 * S), "c": marks(S // 10), "d": marks(50 * S, 2)})
    assert found == {"a": 0, "b": 3600 * S, "c": 0, "d": 0}
    assert offsets({}) == {}


def test_words():
    assert "time zone (+1 h)" in describe_offset("b", 3600 * S)
    assert "by -7.0 s" in describe_offset("b", -7 * S)
