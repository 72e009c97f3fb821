from dataclasses import replace

import pytest

from prism.metrics.aggregate_metrics import aggregate
from prism.metrics.model_estimates import PEAKS, estimate_model
from tests.prism.metrics.test_aggregate_metrics import job


def made(**known):
    own = aggregate(job())
    assert own is not None
    return {one.name: one for one in estimate_model(replace(own, micro_batches=4), **known)}


def test_parameters_from_gradients():
    own = made(gradient_octets=4, sharded=False)["parameters"]
    assert own.value == own.low == own.high == 1_000_000 * 2 / 1 / 8  # 1 MB = 2(n−1)/n · P · 4 over two ranks
    wide = made()["parameters"]
    assert wide.low == 1_000_000 * 2 / 16
    assert wide.high == wide.value == 1_000_000 * 2 / 4
    assert "gradients of 2 octets" in wide.assumption


def test_tokens_and_flops():
    own = made(activation_octets=2.0 * 4096 * 512, hidden=512, gpu="H100", sharded=False, gradient_octets=4)
    assert own["tokens"].value == own["tokens"].low == 4096
    flops = 6 * 250_000 * 4096 * 4 * 2 / 0.1 / 2
    assert own["model FLOPs"].value == pytest.approx(flops)
    assert own["model FLOPs utilisation"].value == pytest.approx(flops / PEAKS["h100"])
    assert made(activation_octets=1e6)["tokens"].low < made(activation_octets=1e6)["tokens"].high


def test_the_share_of_a_link():
    own = made(link_bits_per_s=1e9)
    assert own["dp bandwidth, share of link"].value == pytest.approx(8e6 / 0.015 / 1e9)


def test_unknown_gpus():
    with pytest.raises(ValueError, match="known: v100"):
        made(gpu="z9")
