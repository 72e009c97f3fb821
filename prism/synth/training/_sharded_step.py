"""Simulate a step of fully sharded training: gather parameters layer by layer, scatter gradients.

Sources: Rajbhandari et al., "ZeRO" (SC 2020), stage 3; PyTorch FSDP2 (`fully_shard`), which gathers one layer ahead.
"""

from __future__ import annotations

import numpy as np

from prism.synth.training.fabric import Floats
from prism.synth.training.training_step import LANES, Clock, Trainer


class ShardedTrainer(Trainer):
    """Simulates the steps of a job whose layers are all sharded over its data-parallel group."""

    def step(self, clock: Clock) -> None:
        """Gather and compute forward, gather, compute and scatter backward, optimize."""
        job = self.job
        for micro in range(job.accumulation):
            self.lengths, self.loads = self.work.lengths(1), self.work.loads(1)
            line = clock.now.copy()  # time at which a rank's communication stream is free
            line = self._forward(clock, line)
            line = self._backward(clock, line, stall=micro == 0)
            clock.wait_until(line)
        clock.work("optimizer", self.work.work_time(np.arange(job.world), job.optimizer_ms))

    def _gather(self, line: Floats, asked: Floats) -> Floats:
        size = self.job.gradient_octets // self.job.layers
        return self.talk.reduce(LANES["dp"], self.ranks.dp, size, np.maximum(line, asked), self.job.algorithm, half=True)

    def _compute(self, clock: Clock, kind: str, needs: Floats, *, stall: bool = False) -> None:
        clock.wait_until(needs)
        everyone, begun = np.arange(self.job.world), clock.now
        ms = self.job.forward_ms if kind == "forward" else self.job.backward_ms
        clock.work(kind, self.work.work_time(everyone, ms * float(self.lengths[0]) * self.loads[:, 0] / self.job.layers))
        clock.now = clock.now + (self.work.stalled(everyone, begun, clock.now)[0] if stall else 0.0)

    def _forward(self, clock: Clock, line: Floats) -> Floats:
        line = self._gather(line, clock.now)
        for layer in range(self.job.layers):
            have = line
            asked = np.maximum(clock.now, have)
            if layer + 1 < self.job.layers:
                line = self._gather(line, asked)
            self._compute(clock, "forward", have)
        return line

    def _backward(self, clock: Clock, line: Floats, *, stall: bool) -> Floats:
        line = self._gather(line, clock.now)
        for layer in range(self.job.layers):
            have = line
            asked = np.maximum(clock.now, have)
            if layer + 1 < self.job.layers:
                line = self._gather(line, asked)
            self._compute(clock, "backward", have, stall=stall and layer == self.job.layers // 2)
            line = self._gather(line, clock.now)  # the scatter of gradients has the same volume
        return line
