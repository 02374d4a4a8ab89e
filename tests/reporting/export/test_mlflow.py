"""An MLflow database, read back by its client."""

from __future__ import annotations

import math
from importlib.util import find_spec
from pathlib import Path

import pytest

from normbench_cli.reporting.export import export_runs

# not imported before the writer does, which turns off what it would send and write elsewhere
WITHOUT = pytest.mark.skipif(find_spec("mlflow") is None, reason='needs pip install "normbench[mlflow]"')


@WITHOUT
@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # of mlflow
def test_a_run_is_read_back_and_nothing_is_written_elsewhere(run_id: str, tmp_path: Path, home: Path) -> None:
    before = set(Path.home().rglob("*mlflow*"))
    for _ in range(2):
        export_runs([run_id], "mlflow", tmp_path / "there")
    import mlflow

    client = mlflow.MlflowClient(f"sqlite:///{tmp_path / 'there' / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("normbench")
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.data.params["norm"] == "popnorm:kappa=4"
    assert run.data.tags["normbench.run"] == run_id
    assert run.data.tags["versions.torch"] == "2.13"
    assert run.info.status == "FAILED"

    def history(name: str) -> list[tuple[int, float]]:
        return [(point.step, point.value) for point in client.get_metric_history(run.info.run_id, name)]

    assert history("test/accuracy") == [(1, 0.25), (2, 0.5), (3, 0.75)]
    assert history("steps/train/loss") == [(1, 10), (2, 11), (3, 20), (4, 21), (5, 30), (6, 31)]
    assert history("test/accuracy_bim:eps_0.03") == [(3, 0.25)]
    assert math.isnan(history("train/loss")[-1][1])
    assert set(Path.home().rglob("*mlflow*")) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted({"there", home.name})
