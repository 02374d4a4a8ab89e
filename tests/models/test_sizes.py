"""The networks are those of the papers: their known sizes, and each with the papers' norms and activations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from normbench_cli.datasets._images.torchvision_compat import import_torchvision
from normbench_cli.errors import UsageError
from normbench_cli.models import MODELS, LayerFactory
from normbench_cli.models.efficientnetb0 import drop_path
from normbench_cli.norms import NORMS

IMAGE_MODELS = [name for name, entry in MODELS.entries.items() if not entry.facts.graphs]
ONE_ROUND = ":solver=newton:iterations=1"  # the solver's result does not matter here
PAPERS_NORMS = ["none", "batchnorm", "groupnorm", "weightnorm", f"augnorm{ONE_ROUND}", f"diffphi{ONE_ROUND}", "popnorm"]
PAPERS_ACTIVATIONS = ["relu", "sigmoid", "tanh"]
SMALL = ("mlp", "resnet20", "vgg16")


def count(net: nn.Module, norm: str) -> int:
    kind = NORMS.parse(norm).entry.load()
    return sum(type(module) is kind for module in net.modules())


def on_meta(model: str, norm: str, act: str) -> nn.Module:
    with torch.device("meta"):
        net: nn.Module = MODELS.build(model, norm=norm, act=act, num_classes=10, in_channels=3)
    return net


def run(net: nn.Module) -> None:
    net(torch.empty(4, 3, 32, 32, device="meta")).sum().backward()
    assert all(p.grad is not None for p in net.parameters() if p.requires_grad)


def parameters(net: nn.Module) -> int:
    return sum(p.numel() for p in net.parameters())


@pytest.mark.parametrize(
    ("model", "size", "norms"),
    [
        ("resnet18", 11_173_962, 20),
        ("resnet101", 42_512_970, 104),
        ("vgg16", 14_728_266, 13),
        ("vgg16:width=16", 924_186, 13),
        ("vgg19", 20_040_522, 16),
        ("mobilenetv2", 2_296_922, 57),
        ("densenet121", 6_956_298, 120),
        ("efficientnetb0", 3_599_686, 49),
        ("mlp", 921_610, 3),
    ],
)
def test_sizes_with_batchnorm_are_the_known_ones(model: str, size: int, norms: int) -> None:
    with torch.device("meta"):
        net = MODELS.build(model, norm="batchnorm", num_classes=10, in_channels=3)
    assert (parameters(net), count(net, "batchnorm")) == (size, norms)


@pytest.mark.parametrize(("classes", "size"), [(1000, 11_689_512), (2, 11_177_538)])
def test_resnet18_for_imagenet_has_the_known_size(classes: int, size: int) -> None:
    with torch.device("meta"):
        net = MODELS.build("resnet18_imagenet", num_classes=classes)
    assert (parameters(net), count(net, "batchnorm")) == (size, 20)


def test_resnet18_for_imagenet_computes_what_torchvisions_does() -> None:
    theirs = import_torchvision().models.resnet18().eval()
    ours = MODELS.build("resnet18_imagenet", norm="batchnorm", act="relu", num_classes=1000).eval()
    ours.load_state_dict(dict(zip(ours.state_dict(), theirs.state_dict().values(), strict=True)))
    x = torch.randn(2, 3, 64, 64)
    torch.testing.assert_close(ours(x), theirs(x))


@pytest.mark.parametrize(("model", "norms"), [("vgg16", 14), ("resnet20", 20), ("densenet121", 121), ("mlp", 4)])
@pytest.mark.parametrize("norm", ["batchnorm:placement=before", "popnorm"])
def test_a_norm_placed_before_precedes_every_operation(model: str, norms: int, norm: str) -> None:
    with torch.device("meta"):
        net = MODELS.build(model, norm=norm)
    assert count(net, norm) == norms


def test_efficientnet_has_one_norm_that_never_runs_and_is_frozen() -> None:
    net = MODELS.build("efficientnetb0", norm="batchnorm")
    net(torch.randn(2, 3, 32, 32)).sum().backward()
    idle = [m for m in net.modules() if type(m).__name__ == "BatchNorm" and not m.num_batches_tracked]
    assert len(idle) == 1
    assert all((p.grad is not None) == p.requires_grad for p in net.parameters())
    assert sum(not p.requires_grad for p in net.parameters()) == 3


@pytest.mark.parametrize("norm", PAPERS_NORMS)
@pytest.mark.parametrize(
    "model", [pytest.param(name, marks=[pytest.mark.slow] if name not in SMALL else []) for name in IMAGE_MODELS]
)
def test_every_model_with_the_papers_norms_and_activations_works_on_meta(model: str, norm: str) -> None:
    """All three activations are built; one of them is run, a different one for each pair, to save time."""
    nets = [on_meta(model, norm, act) for act in PAPERS_ACTIVATIONS]
    run(nets[(IMAGE_MODELS.index(model) + PAPERS_NORMS.index(norm)) % len(nets)])


def check_training_and_loading(folder: Path, model: str, norm: str, act: str) -> None:
    torch.manual_seed(0)
    net = MODELS.build(model, norm=norm, act=act, num_classes=3, in_channels=3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    x = torch.randn(2, 3, 32, 32)
    for _ in range(2):
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), torch.tensor([0, 1])).backward()
        optimizer.step()
    torch.save(net.state_dict(), folder / "state.pt")
    again = MODELS.build(model, norm=norm, act=act, num_classes=3, in_channels=3)
    again.load_state_dict(torch.load(folder / "state.pt", weights_only=True))
    with torch.no_grad():
        scores = net.eval()(x)
        assert scores.isfinite().all()
        assert torch.equal(scores, again.eval()(x))


@pytest.mark.parametrize("norm", ["batchnorm", "popnorm", "weightnorm"])
@pytest.mark.parametrize("model", ["mlp", "resnet20"])
def test_models_train_two_steps_and_a_loaded_one_scores_the_same(model: str, norm: str, tmp_path: Path) -> None:
    check_training_and_loading(tmp_path, model, norm, "relu")


@pytest.mark.slow
@pytest.mark.parametrize("act", PAPERS_ACTIVATIONS)
@pytest.mark.parametrize("norm", [norm.partition(":")[0] for norm in PAPERS_NORMS])
@pytest.mark.parametrize("model", IMAGE_MODELS)
def test_every_combination_trains_two_steps_and_a_loaded_one_scores_the_same(
    model: Any, norm: Any, act: Any, tmp_path: Path
) -> None:
    check_training_and_loading(tmp_path, model, norm, act)


@pytest.mark.parametrize("model", IMAGE_MODELS)
def test_models_accept_small_gray_images_or_say_why_not(model: str) -> None:
    net = MODELS.build(model, norm="batchnorm", num_classes=10, in_channels=1).eval()
    x = torch.randn(2, 1, 16, 16)
    if model.startswith("vgg"):
        with pytest.raises(ValueError, match=r"at least 32x32 pixels, and these are 16x16$"):
            net(x)
    else:
        assert net(x).shape == (2, 10)


@pytest.mark.parametrize(
    ("norm", "stem", "layer", "end"),
    [
        ("batchnorm", ["Conv2d"], ["BatchNorm", "Tanh", "Conv2d"], ["BatchNorm", "Tanh"]),
        ("bn:placement=before", ["BatchNorm", "Conv2d"], ["Tanh", "BatchNorm", "Conv2d"], ["Tanh"]),
        ("bn:placement=before,first=false", ["Conv2d"], ["Tanh", "BatchNorm", "Conv2d"], ["Tanh"]),
    ],
)
def test_pre_activation_order(norm: str, stem: list[str], layer: list[str], end: list[str]) -> None:
    net = MODELS.build("densenet121", norm=norm, act="tanh")
    kinds = [[type(m).__name__ for m in part.modules() if not list(m.children())] for part in (net.stem, net.end)]
    assert kinds == [stem, end]
    assert [type(m).__name__ for m in net.stages[0][0].branch[0].modules() if not list(m.children())] == layer


def test_drop_path_keeps_the_expectation_and_follows_the_seed() -> None:
    x = torch.ones(4000, 1, 2, 2)
    torch.manual_seed(1)
    dropped = drop_path(x, 0.25)
    torch.manual_seed(1)
    assert torch.equal(dropped, drop_path(x, 0.25))
    assert dropped.unique().tolist() == pytest.approx([0, 4 / 3])
    assert float(dropped.mean()) == pytest.approx(1, abs=0.05)
    assert torch.equal(x, torch.ones_like(x))


@pytest.mark.parametrize("model", ["mlp:width=0", "efficientnetb0:dropout=1", "efficientnetb0:drop_connect=-1"])
def test_invalid_parameters_are_refused(model: str) -> None:
    with pytest.raises(UsageError, match=r"; give (0 or more and below 1|1 to)"):
        MODELS.build(model)


@pytest.mark.slow
@pytest.mark.parametrize("model", IMAGE_MODELS)
def test_models_compile_to_one_graph(model: Any) -> None:
    check_one_graph(MODELS.build(model, norm="batchnorm", num_classes=3), 32)


@pytest.mark.filterwarnings("ignore:.*should not be instantiated:DeprecationWarning")  # by the compiler
@pytest.mark.parametrize(
    "norm",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name == "diffphi" else [])
        for name, entry in NORMS.entries.items()
        if not entry.facts.graphs
    ],
)
def test_models_compile_to_one_graph_with_every_norm(norm: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("normbench_cli.norms.augnorm.STEPS_UNCHECKED", 1)  # all steps are the same, and each is traced
    layers = LayerFactory(norm, "sigmoid")
    conv, pool = layers.conv_norm_act(3, 4, 3, first=True), nn.AdaptiveAvgPool2d(1)
    check_one_graph(nn.Sequential(conv, pool, nn.Flatten(), layers.classifier(4, 3)), 8)


def check_one_graph(net: nn.Module, size: int) -> None:
    torch.compiler.reset()
    compiled = torch.compile(net, backend="aot_eager", fullgraph=True)
    compiled(torch.randn(4, 3, size, size)).sum().backward()
    assert all(p.grad is not None for p in net.parameters() if p.requires_grad)


@pytest.mark.parametrize(("norm", "more"), [("batchnorm", 9), ("popnorm", 9), ("weightnorm", 0), ("ws+gn", 9)])
def test_every_shortcut_may_have_a_norm_of_its_own(norm: str, more: int) -> None:
    plain, normalized = (MODELS.build(spec, norm=norm) for spec in ("resnet20", "resnet20:shortcut=normalized"))
    counts = [sum(p.ndim == 1 for p in net.parameters()) for net in (plain, normalized)]
    assert counts[1] - counts[0] == 2 * more
    assert normalized.stages[0][0].shortcut(torch.randn(4, 16, 8, 8)).std() < 1.1


def test_a_shortcut_is_added_in_front_of_the_activation_or_behind_it() -> None:
    before, after = (
        MODELS.build(f"resnet20:join={join}", norm="none").stages[0][0] for join in ("before_act", "after_act")
    )
    after.load_state_dict(before.state_dict())
    x = torch.randn(2, 16, 8, 8)
    torch.testing.assert_close(before(x), (before.branch(x) + x).relu())
    torch.testing.assert_close(after(x), before.branch(x).relu() + x)
