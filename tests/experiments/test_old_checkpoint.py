"""A run that the first version of the program left behind in the middle of an epoch is resumed to the same end.

`old/first-version-step-5.pt` is the checkpoint of its fifth step, with the names of parameters, buffers and optimizer
state as they were then.  The final metrics are those of that version's uninterrupted run; other processors differ from
them in the last digits.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

from normbench_cli import paths
from normbench_cli.config import make_config
from normbench_cli.engine.training import Training
from normbench_cli.experiments.train import resume_run
from normbench_cli.store import Store

CHECKPOINT = Path(__file__).parent / "old" / "first-version-step-5.pt"
FINAL = {"train/loss": 1.98384, "test/loss": 2.02515, "phi/mean": 1.50090}
FINAL_ACCURACY, ONE_IMAGE = 0.25, 1 / 180


def leave_behind(store: Store) -> str:
    """The interrupted run: its row and its checkpoint."""
    config = make_config(torch.load(CHECKPOINT, weights_only=True)["config"])
    run_id = store.begin(config.to_dict(), config.fingerprint(), {}, argv=[])
    store.end(run_id, "interrupted")
    folder = paths.run_folder(run_id)
    folder.mkdir(parents=True)
    shutil.copy(CHECKPOINT, folder / "checkpoint-000000005.pt")
    return run_id


def test_a_run_of_the_first_version_is_resumed(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[int] = []
    real = Training.load_state_dict

    def load_state_dict(self: Training, state: dict[str, object]) -> None:
        real(self, state)
        loaded.append(self.step)

    monkeypatch.setattr(Training, "load_state_dict", load_state_dict)
    with Store.open() as store:
        result = resume_run(leave_behind(store), store)
    assert loaded == [5]
    assert result.status == "finished"
    assert {name: result.metrics[name] for name in FINAL} == pytest.approx(FINAL, abs=5e-3)
    assert result.metrics["test/accuracy"] == pytest.approx(FINAL_ACCURACY, abs=2.5 * ONE_IMAGE)
