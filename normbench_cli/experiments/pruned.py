"""The scores of a trained network without some of its channels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from normbench_cli.config import RunConfig
from normbench_cli.engine.evaluate import score
from normbench_cli.engine.training import Training
from normbench_cli.errors import NormbenchError
from normbench_cli.experiments.pruning import Pruning
from normbench_cli.measure.pruning import (
    gammas_and_betas,
    kept_channels,
    norms_with_channels,
    pruned,
    share_alive,
)
from normbench_cli.registry import ACTIVATIONS
from normbench_cli.seeds import derive


def scores_pruned(
    training: Training, config: RunConfig, prunings: Sequence[Pruning], clean: float
) -> Iterator[dict[str, float]]:
    """Yield, for each pruning, the scores on the test set and the drop from the full network's accuracy, `clean`."""
    norms = norms_with_channels(training.model, next(iter(training.test.epoch(0))).inputs)
    if not norms:
        raise NormbenchError(f"no norm of {config.model} has gamma and beta", "evaluate a run without affine=false")
    gamma, beta = gammas_and_betas(norms)
    for pruning in prunings:
        kept = kept_channels(ranking(pruning, gamma, beta, config), pruning.keep)
        with pruned(norms, kept):
            scores = score(training, training.test)
        metrics = {f"test/{name}@{pruning}": value for name, value in scores.items()}
        yield metrics | {f"test/accuracy_drop@{pruning}": clean - scores["accuracy"]}


def ranking(pruning: Pruning, gamma: Tensor, beta: Tensor, config: RunConfig) -> Tensor:
    """The values that channels are ranked by; random ones depend on the seed of the run and on the draw."""
    if pruning.by == "gamma":
        return gamma.abs()
    if pruning.by == "alive":
        return share_alive(gamma, beta, ACTIVATIONS.build(config.act).to(gamma.device))
    generator = torch.Generator().manual_seed(derive(config.seed, "pruning", pruning.draw))
    return torch.rand(len(gamma), generator=generator).to(gamma.device)
