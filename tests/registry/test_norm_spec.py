"""What a norm's spec means: its parts, where the layer is placed, and what the model around it has to know."""

from __future__ import annotations

from pathlib import Path

import pytest

from normbench_cli.errors import UsageError
from normbench_cli.registry import NORMS


def test_parts_are_norms_of_weights_and_one_of_data() -> None:
    norm = NORMS.parse_norm("ws+sn+gn:groups=8")
    assert [str(part) for part in norm.weight_norms] == ["weightstandardization", "spectralnorm"]
    assert str(norm.data_norm) == "groupnorm:groups=8"
    assert str(norm) == "weightstandardization+spectralnorm+groupnorm:groups=8"


@pytest.mark.parametrize("text", ["bn+gn", "none+bn", "bn+ws+popnorm"])
def test_two_norms_of_data_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match="joins two norms of data; join one of data and any of weights"):
        NORMS.parse_norm(text)
    with pytest.raises(UsageError, match="joins two norms of data"):
        NORMS.canonical(text)


@pytest.mark.parametrize(
    ("text", "placement", "first", "classifier"),
    [
        ("bn", "after", True, True),
        ("popnorm", "before", True, True),
        ("popnorm:first=no,classifier=no", "before", False, False),
        ("popnorm:placement=after", "after", True, True),
        ("ws+bn:placement=before", "before", True, True),
        ("wn", "after", True, True),
        ("graphnorm", "after", True, False),
    ],
)
def test_placement(text: str, placement: str, first: bool, classifier: bool) -> None:
    norm = NORMS.parse_norm(text)
    assert (norm.placement, norm.first, norm.classifier) == (placement, first, classifier)


@pytest.mark.parametrize(
    ("text", "graphs", "removes_mean", "needs_batch"),
    [
        ("bn", False, True, True),
        ("ws+gn", False, False, False),
        ("graphnorm", True, False, False),
        ("popnorm", False, False, True),
        ("popnorm:stats=group", False, False, False),
        ("popnorm:stats=instance,kappa=2", False, False, False),
        ("wn", False, False, False),
    ],
)
def test_facts_of_the_whole_spec(text: str, graphs: bool, removes_mean: bool, needs_batch: bool) -> None:
    norm = NORMS.parse_norm(text)
    assert (norm.graphs, norm.removes_mean, norm.needs_batch) == (graphs, removes_mean, needs_batch)


@pytest.mark.parametrize(
    ("text", "normalizes_data"), [("none", False), ("wn", False), ("wn+none", False), ("bn", True), ("wn+bn", True)]
)
def test_none_and_weight_norms_do_not_normalize_data(text: str, normalizes_data: bool) -> None:
    assert NORMS.parse_norm(text).normalizes_data == normalizes_data


OUTSIDE = """
from torch import nn

class TwoNumbers(nn.Module):
    def __init__(self, depth: int, width: int):
        super().__init__()
        self.depth, self.width = depth, width

class WithDefault(nn.Module):
    def __init__(self, width: int = 3):
        super().__init__()
        self.width = width
"""


@pytest.mark.parametrize(
    ("spec", "has"),
    [
        ("torch.nn:GroupNorm:num_groups=4", {"num_channels": 8, "num_groups": 4}),  # a usual name
        ("torch.nn:InstanceNorm2d", {"num_features": 8}),
        ("torch.nn:LayerNorm", {"normalized_shape": (8,)}),
        ("channelnames:TwoNumbers:depth=2", {"depth": 2, "width": 8}),  # the one that is left
        ("channelnames:TwoNumbers:width=2,channels_as=depth", {"depth": 8, "width": 2}),
        ("channelnames:WithDefault:channels_as=width", {"width": 8}),
    ],
)
def test_a_layer_from_outside_gets_its_channels_by_the_name_it_has_for_them(
    spec: str, has: dict[str, object], tmp_path: Path
) -> None:
    (tmp_path / "channelnames.py").write_text(OUTSIDE)
    layer = NORMS.build(NORMS.canonical(spec), num_features=8)
    assert {name: getattr(layer, name) for name in has} == has


def test_a_wrong_name_for_channels_is_refused_with_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "channelnames.py").write_text(OUTSIDE)
    with pytest.raises(UsageError, match=r"no parameter 'widht' for its channels; did you mean 'width'"):
        NORMS.build("channelnames:WithDefault:channels_as=widht", num_features=8)
    with pytest.raises(UsageError, match="no parameter 'channels_as'"):
        NORMS.parse("batchnorm:channels_as=x")
