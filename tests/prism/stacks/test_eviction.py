from prism.stacks.eviction import RankGroup, evict
from prism.stacks.stack_clusters import Outliers

GROUPS = [RankGroup("dp", (0, 2)), RankGroup("pp", (2, 3)), RankGroup("dp", tuple(range(8)))]


def test_sure_outliers_go_alone():
    choice = evict(Outliers((2,), "busy", "w", 0.95), GROUPS, {2: "n1"}, 8)
    assert (choice.ranks, choice.hosts) == ((2,), ("n1",))
    assert choice.group == RankGroup("pp", (2, 3))


def test_in_doubt_the_group_goes():
    choice = evict(Outliers((2,), "alone", "w", 0.6), GROUPS, {}, 8)
    assert choice.ranks == (2, 3)
    assert "whole pp group" in choice.why


def test_nothing_without_outliers():
    assert evict(Outliers((), "", "same", 0.0), GROUPS, {}, 8).ranks == ()
    assert evict(Outliers((0, 7), "alone", "w", 0.6), GROUPS, {}, 8).group is None
