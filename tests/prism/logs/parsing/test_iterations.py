import pytest

from prism.logs.parsing.iterations import duration_s, iteration


@pytest.mark.parametrize(
    ("text", "count", "seconds"),
    [
        (" [2024-11-26 05:17:17] iteration       12/     24 | elapsed time per iteration (ms): 512.5 | lm loss: 1", 12, 0.5125),
        ("[INFO] [logging.py:128:log_dist] [Rank 0] step=7, skipped=0, lr=[0.1]", 7, 0),
        ("Epoch 0: :  57%|## | 8/14 [00:08<00:06, v_num=, global_step=8.0, train_step_timing in s=0.425]", 8, 0.425),
        (':::MLLOG {"key": "train_loss", "value": 6.1, "metadata": {"step_num": 9}}', 9, 0),
        (" 57%|######    | 8/14 [00:08<00:06,  1.28it/s]", 8, 0),
        ("Epoch 0:   6%|#  | 32040/500150 [6:28:43<94:39:17, 1.37it/s, loss=2.6, global_step=3.2e+4]", 32040, 0),
        ("step 3 loss 6.1 time 0.250s", 3, 0.25),
    ],
)
def test_frameworks(text, count, seconds):
    assert iteration(text) == count
    assert duration_s(text) == pytest.approx(seconds)


def test_other_lines():
    assert iteration("saving checkpoint at iteration 12 to /data") is None
    assert iteration("step one of the plan") is None
    assert duration_s("time 1.2.3s") == 0
