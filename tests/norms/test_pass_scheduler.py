"""The number of passes of a search without convergence tests follows the buffer `failures`, whoever wrote it."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest
import torch

from normbench_cli.model_state import preserve_state
from normbench_cli.norms._ggm.pass_scheduler import MOST_BLIND_PASSES
from normbench_cli.norms.augnorm import AugNorm


def passes_of(layer: AugNorm) -> int:
    return layer.pass_scheduler.passes(1, layer.failures)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda layer: pickle.loads(pickle.dumps(layer))])
def test_a_copy_of_a_layer_makes_as_many_passes(copied: Callable[[AugNorm], AugNorm]) -> None:
    layer = AugNorm(4)
    assert passes_of(layer) == passes_of(copied(layer)) == MOST_BLIND_PASSES
    layer.pass_scheduler.report(layer.failures, torch.tensor(True))
    assert passes_of(layer) == passes_of(copied(layer)) == 1


def test_a_resumed_training_makes_as_many_passes_as_the_one_before() -> None:
    layer, resumed = AugNorm(4), AugNorm(4)
    for certified in (True, False):
        layer.pass_scheduler.report(layer.failures, torch.tensor(certified))
    for name, buffer in layer.named_buffers():
        resumed.get_buffer(name).copy_(buffer)
    assert passes_of(layer) == passes_of(resumed) == 2


def test_a_restored_layer_makes_as_many_passes_as_before_it_was_used() -> None:
    layer = AugNorm(4)
    with preserve_state(layer):
        layer.pass_scheduler.report(layer.failures, torch.tensor(True))
        assert passes_of(layer) == 1
    assert passes_of(layer) == MOST_BLIND_PASSES
