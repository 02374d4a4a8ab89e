"""The database as DataFrames, and the filters on settings."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from normbench_cli.errors import UsageError
from normbench_cli.store import Store
from normbench_cli.store.queries import metrics_frame, parse_where, runs_frame

Enter = Callable[..., str]


def test_no_runs_make_an_empty_frame_with_all_columns(store: Store) -> None:
    assert runs_frame(store, where={"norm": ["batchnorm"], "epochs": ["2"]}).empty
    assert metrics_frame(store).columns.tolist() == ["run_id", "metric", "epoch", "value"]


def test_runs_are_listed_newest_first_with_their_settings(store: Store, enter: Enter) -> None:
    first, second = enter(norm="batchnorm", epochs=3, lr=0.5), enter(norm="none", iterations=7, epochs=None)
    frame = runs_frame(store)
    assert frame["id"].tolist() == [second, first]
    assert frame["epochs"].tolist() == [None, 3]
    assert repr(frame["iterations"].tolist()) == "[7, None]"
    assert frame["lr"].tolist() == [0.1, 0.5]  # what a run did not record has its default
    assert frame["config"].tolist()[0] == {"norm": "none", "iterations": 7, "epochs": None}


@pytest.mark.parametrize(
    ("pairs", "found"),
    [
        (["norm=batchnorm"], {1, 2}),
        (["norm=bn"], {1, 2}),
        (["norm=batchnorm", "norm=their.module:Norm"], {1, 2, 3}),
        (["norm=batchnorm", "seed=2"], {2}),
        (["norm=popnorm:kappa=8.0"], {4}),  # recorded as popnorm:kappa=8
        (["lr=1e-1"], {1}),
        (["iterations=none", "folds=0"], {1, 2, 3, 4}),
        (["batch_size=65"], set()),
    ],
)
def test_where_accepts_values_as_written_on_a_command_line(
    store: Store, enter: Enter, pairs: list[str], found: set[int]
) -> None:
    enter(seed=1, norm="batchnorm")
    enter(seed=2, norm="batchnorm", lr=0.2)
    enter(seed=3, norm="their.module:Norm", lr=0.3)
    enter(seed=4, norm="popnorm:kappa=8", lr=0.4)
    assert set(runs_frame(store, where=parse_where(pairs))["seed"]) == found


def test_filters_on_any_component_and_parameter_load_no_torch() -> None:
    """Also for specs that are not recorded in the same form, whose parameters must be read."""
    code = """
        import sys
        import pandas as pd
        from normbench_cli.config import REGISTRIES
        from normbench_cli.registry.spec import join_spec
        from normbench_cli.store.queries import parse_values

        nothing = pd.Series(dtype=object)
        for setting, registry in REGISTRIES.items():
            for name, entry in registry.entries.items():
                texts = [name, *(join_spec(name, {key: value}) for key, value in entry.defaults.items() if value != "")]
                assert len(parse_values(setting, texts, nothing)) == len(texts)
        assert "torch" not in sys.modules
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


@pytest.mark.parametrize(("pair", "says"), [("norm", "key=value"), ("nrm=bn", "did you mean 'norm'")])
def test_a_wrong_where_is_an_error(pair: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        parse_where([pair])


@pytest.mark.parametrize("filters", [{"kind": "profile"}, {"status": "failed"}, {"tag": "t"}], ids=str)
def test_runs_are_selected_by_kind_status_and_tag(store: Store, enter: Enter, filters: dict[str, Any]) -> None:
    enter()
    wanted = enter("failed", kind="profile", tag="t", shape=[1, 2])
    assert runs_frame(store, **filters)["id"].tolist() == [wanted]


def test_the_last_value_counts_of_a_run_or_of_each_epoch(store: Store, enter: Enter) -> None:
    run_id, other = enter(metrics={"test/accuracy": 0.1}), enter(metrics={"train/loss": 9})
    for epoch, value in ((1, 0.2), (1, 0.3), (2, 0.4)):
        store.record(run_id, {"test/accuracy": value, "test/accuracy@bim": 0}, epoch=epoch)
    store.record(run_id, {"test/accuracy": 0.5})

    def values(run_ids: list[str] | None = None, *, curve: bool = False) -> list[float]:
        return list(metrics_frame(store, run_ids, ["test/accuracy"], curve=curve)["value"])

    assert values() == [0.5]
    assert values(curve=True) == [0.3, 0.4]
    assert values([other]) == []
    assert values([run_id, *(f"{n:08x}" for n in range(1000))]) == [0.5]
    assert metrics_frame(store, [run_id])["metric"].tolist() == ["test/accuracy@bim", "test/accuracy"]
