"""Specs beside each other show the parameters in which they differ."""

from __future__ import annotations

import pytest

from normbench_cli.reporting.spec_names import metric_names, setting_names


@pytest.mark.parametrize(
    ("recorded", "shown"),
    [
        (["augnorm", "augnorm:phi=1.2"], ["augnorm:phi=1.5", "augnorm:phi=1.2"]),
        (["augnorm", "batchnorm"], ["augnorm", "batchnorm"]),
        (["augnorm:phi=1.2", "popnorm"], ["augnorm:phi=1.2", "popnorm"]),
        (["popnorm", "popnorm:remove=none", "bn"], ["popnorm:remove=mean", "popnorm:remove=none", "bn"]),
        (
            ["popnorm:kappa=8", "popnorm:remove=none"],
            ["popnorm:kappa=8,remove=mean", "popnorm:kappa=4,remove=none"],
        ),
        (["popnorm", "popnorm:first=false"], ["popnorm:first=true", "popnorm:first=false"]),
        (["batchnorm", "batchnorm:placement=before"], ["batchnorm:placement=after", "batchnorm:placement=before"]),
        (["groupnorm", "groupnorm:groups=8"], ["groupnorm", "groupnorm:groups=8"]),
        (
            ["weightstandardization+batchnorm", "weightstandardization+batchnorm:eps=0.1"],
            ["weightstandardization+batchnorm:eps=1e-05", "weightstandardization+batchnorm:eps=0.1"],
        ),
        (["their.module:Norm", "their.module:Norm:a=1"], ["their.module:Norm", "their.module:Norm:a=1"]),
        (["not a spec: :", "none"], ["not a spec: :", "none"]),
    ],
    ids=str,
)
def test_siblings_show_the_parameter_in_which_they_differ(recorded: list[str], shown: list[str]) -> None:
    assert list(setting_names("norm", recorded).values()) == shown


def test_other_settings_are_written_as_in_a_spec() -> None:
    assert setting_names("epochs", [None, 20]) == {None: "none", 20: "20"}
    assert setting_names("lr", [0.1, 1.0]) == {0.1: "0.1", 1.0: "1"}


def test_metrics_of_one_attack_show_its_strength() -> None:
    names = ["test/accuracy", "test/accuracy@bim", "test/accuracy@bim:eps=0.01", "test/accuracy@gaussian"]
    shown = list(metric_names(names).values())
    assert shown[0] == "test/accuracy"
    assert shown[1].startswith("test/accuracy@bim:eps=0.0")
    assert shown[2:] == ["test/accuracy@bim:eps=0.01", "test/accuracy@gaussian"]
    assert metric_names(["test/accuracy@bim"]) == {"test/accuracy@bim": "test/accuracy@bim"}
