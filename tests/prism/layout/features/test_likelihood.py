import numpy as np

from prism.evidence.host_lockstep import Lockstep
from prism.layout.constants import KIND_SCORES, SCORED
from prism.layout.features.likelihood import fit, lockstep_fit, rounds_fit, together_fit, traits
from tests.prism.evidence.made import data_parallel, evidence, pipelined


def test_a_pipeline_fits_a_pipeline_best_and_a_ring_a_reduction():
    _, _, _, (gradients, hands) = evidence(pipelined())
    of_hands, of_gradients = fit(hands, 0.1), fit(gradients, 0.9)
    assert of_hands["pp"] > max(of_hands[kind] for kind in ("dp", "tp", "cp", "ep"))
    assert of_gradients["dp"] > max(of_gradients[kind] for kind in ("pp", "tp", "cp", "ep"))
    assert of_gradients["edp"] == of_gradients["dp"]


def test_a_hundredth_of_the_octets_is_no_inner_dimension():
    _, _, _, (gradients, _) = evidence(pipelined())
    usual, little = fit(gradients, 0.1), fit(gradients, 0.01)
    for kind in ("tp", "ep", "cp"):
        assert little[kind] - little["dp"] < usual[kind] - usual["dp"]


def test_who_moves_many_times_per_hand_over_rather_reduces_tensors_than_gradients():
    _, _, _, (gradients, _) = evidence(pipelined())
    often, seldom = (fit(gradients, 0.5, handed=gradients.rhythm.runs / ratio) for ratio in (8, 1 / 4))
    assert often["tp"] - often["dp"] > seldom["tp"] - seldom["dp"] + 1


def test_what_is_seen_of_a_family_has_rows_in_the_table():
    _, _, _, found = evidence(pipelined())
    for family in found:
        assert set(traits(family, 0.5)) <= set(KIND_SCORES)
    assert {len(row) for row in KIND_SCORES.values()} == {len(SCORED)}


def test_only_pairs_exchange_the_gradients_of_tied_embeddings():
    _, _, _, (family,) = evidence(data_parallel(hosts=4))
    assert fit(family, 1.0)["tied"] < -20


def offsets(offset, jitter, pairs=4, together=0.0):
    first = np.arange(pairs)
    return Lockstep(first, first + 1, np.full(pairs, offset), np.full(pairs, jitter), np.full(pairs, together))


def fitting_best(seen):
    fits = {relation: lockstep_fit(np.full(len(seen.first), relation), seen, 2.0) for relation in (1, 2, 3)}
    return max(fits, key=fits.get)


def together(relation, seen, uneven=True):
    return together_fit(np.full(len(seen.first), relation), seen, uneven, 2.0)


def test_members_that_start_at_one_instant_reduce_by_halving_unless_nothing_varies():
    bound, apart = offsets(0.0, 0.0, together=0.5), offsets(1e-3, 1e-3)
    assert together(6, bound) > together(2, bound) > together(1, bound) > together(3, bound)
    assert together(1, apart) > together(2, apart) > together(6, apart)
    assert together(6, bound, uneven=False) == together(1, bound, uneven=False) > together(3, bound, uneven=False)


def test_stages_are_apart_by_a_steady_part_of_the_step_and_twins_by_little():
    assert fitting_best(offsets(0.08, 0.001)) == 3
    assert fitting_best(offsets(1e-4, 2e-4)) == 1


def test_rails_of_one_reduction_move_together_more_than_replicas_in_a_ring_and_less_than_twins():
    close, apart = offsets(1e-4, 1.2e-4), offsets(0.08, 0.001)
    twins, rails, replicas, stages = (lockstep_fit(np.full(4, relation), close, 2.0) for relation in (1, 5, 2, 3))
    assert twins > rails > replicas > stages
    assert lockstep_fit(np.full(4, 5), apart, 2.0) < lockstep_fit(np.full(4, 3), apart, 2.0)


def test_the_number_of_messages_shows_the_hops_that_hosts_hide():
    assert rounds_fit(252, 8, 64) > 1  # 2 · 126 messages: two all-reduces among 64
    assert rounds_fit(28, 8, 64) < -0.5
    assert rounds_fit(28, 8, 8) == 0  # the ring that is on the wire
    assert rounds_fit(1, 8, 64) == 0  # one record for all rounds


def test_the_messages_of_a_ring_that_hosts_hide_show_its_members():
    """Two members of a ring on the wire, all others inside hosts."""
    assert rounds_fit(90, 1, 16) > rounds_fit(28, 1, 8) > 1 > 0 > rounds_fit(28, 1, 16)
    assert rounds_fit(90, 1, 2) == 0  # one hop says nothing
