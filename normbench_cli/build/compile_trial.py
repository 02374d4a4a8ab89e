"""Whether compiling a model makes its training steps faster on this machine, measured by timing a few steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from normbench_cli.build.assemble import make_training
from normbench_cli.build.data import load_images
from normbench_cli.build.resolved_config import ResolvedConfig
from normbench_cli.build.torch_flags import flags_of
from normbench_cli.engine.step import train_step
from normbench_cli.measure.timing import Timing, time_interleaved

ROUNDS = 7
Timer = Callable[..., list[Timing]]


def compile_pays_off(config: ResolvedConfig, timer: Timer = time_interleaved) -> bool:
    """Time eager and compiled training steps, interleaved.  Both train the same model, which is discarded."""
    as_written = make_training(replace(config, compile=False, probes=0))
    compiled = replace(as_written, compiled_for=(config.batch_size, *load_images(config.data).shape))
    batch = next(iter(as_written.train.epoch(1)))
    as_written.model.train()
    steps: dict[str, Callable[[], object]] = {
        "as written": partial(train_step, as_written, batch.inputs, batch.labels),
        "compiled": partial(train_step, compiled, batch.inputs, batch.labels),
    }
    with flags_of(config):
        plain, faster = timer(steps, as_written.device, rounds=ROUNDS)
    return faster.median < plain.median
