"""The contracts between layers and the rest: who fulfils them, and that nothing else is mistaken for them."""

from __future__ import annotations

import torch
from torch import nn

from normbench_cli.norms.protocols import (
    CompilesAhead,
    HasSolverStatistics,
    exempt_from_weight_decay,
    has_generator,
    learns_phi,
    weight_decay_group,
)
from normbench_cli.registry import NORMS


def norms_with(protocol: type) -> set[str]:
    layers = {name: NORMS.build(name, num_features=4) for name in ("augnorm", "diffphi", "auggraphnorm", "batchnorm")}
    return {name for name, layer in layers.items() if isinstance(layer, protocol)}


def test_layers_with_a_solver_report_its_statistics() -> None:
    assert norms_with(HasSolverStatistics) == {"augnorm", "diffphi", "auggraphnorm"}


def test_layers_with_compiled_kernels_compile_ahead() -> None:
    assert norms_with(CompilesAhead) == {"augnorm", "diffphi"}


def test_only_a_phi_that_is_a_tensor_is_learned() -> None:
    learned = {"diffphi": True, "auggraphnorm:learn_phi=true": True, "auggraphnorm": False, "augnorm": False}
    assert {spec: learns_phi(NORMS.build(spec, num_features=4)) for spec in learned} == learned
    foreign = nn.Module()
    foreign.phi = nn.Parameter(torch.ones(4))
    assert learns_phi(foreign)


def test_a_submodule_named_generator_is_no_random_generator() -> None:
    class Layer(nn.Module):
        def __init__(self, generator: torch.Generator | nn.Module | None) -> None:
            super().__init__()
            self.generator = generator

    assert has_generator(Layer(None))
    assert has_generator(Layer(torch.Generator()))
    assert not has_generator(Layer(nn.Linear(2, 2)))
    assert not has_generator(nn.Module())


def test_a_parameter_is_decayed_unless_it_says_otherwise() -> None:
    parameter = nn.Parameter(torch.ones(1))
    assert weight_decay_group(parameter) is None
    exempt_from_weight_decay(parameter, "phi")
    assert weight_decay_group(parameter) == "phi"
