from prism.layout.constants import WEIGHTS
from tests.prism.layout.made import asked, tensor_and_data


def test_the_score_is_the_sum_of_what_the_features_add():
    _, found = asked(tensor_and_data(hosts=3, per_host=2), 2)
    best = found[0].best
    assert best.score == sum(WEIGHTS[name] * value for name, value in best.features.items())
    assert all(best.terms.values())


def test_data_parallel_ranks_of_a_host_may_be_context_parallel():
    """What they exchange is not on the wire, so it is as likely as such jobs are usual."""
    problem, found = asked(tensor_and_data(hosts=4, per_host=2), 2)
    whole = next(one.best for one in found if one.best.layout["dp"] == 8)
    other, _, experts = whole.hidden(problem)  # context twice: with hand-overs apart or together
    assert (experts.layout["dp"], experts.layout["ep"]) == (8, 2)
    assert {members for kind, members in experts.groups if len(members) == 4} == {frozenset(range(k, 8, 2)) for k in range(2)}
    assert (other.layout["dp"], other.layout["cp"]) == (4, 2)
    assert other.score < whole.score
    assert {members for kind, members in other.groups if kind == "cp"} == {frozenset({2 * h, 2 * h + 1}) for h in range(4)}
