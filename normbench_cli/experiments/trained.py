"""The `Training` of a finished run, with the weights of its last checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from normbench_cli import build, paths
from normbench_cli.config import RunConfig
from normbench_cli.device import pick_device
from normbench_cli.engine import checkpoint
from normbench_cli.engine.training import Training
from normbench_cli.errors import NormbenchError, first_sentence
from normbench_cli.experiments.recorded import Packages, recorded_config
from normbench_cli.experiments.same_data import check_data
from normbench_cli.store import Store


def config_of_finished(run_id: str, store: Store, allow: Packages = (), **changes: Any) -> RunConfig:
    """The configuration of a run that kept a trained model, with changes; an error if it kept none.

    allow: packages that its row may load, besides those allowed permanently.
    """
    run = store.find(run_id)
    if run.status != "finished":
        raise NormbenchError(f"run {run.id} is {run.status}", "only a finished run can be evaluated")
    if run.kind != "train":
        raise NormbenchError(f"run {run.id} is a {run.kind}, which trains no model", "see `normbench runs show`")
    if run.config.get("folds"):
        raise NormbenchError(f"run {run.id} is a cross-validation, which keeps no model", "see `normbench runs show`")
    return recorded_config(run, allow, **changes)


def load_trained(
    run_id: str, store: Store, device: str = "auto", allow: Packages = (), *, force: bool = False
) -> tuple[build.ResolvedConfig, Training]:
    """Load the configuration and the `Training` of a finished run, after its last step, on a device.

    force: load them even if the data have changed since.
    """
    recorded = config_of_finished(run_id, store, allow, device=device)
    check_data(store.find(run_id), recorded, force=force)
    config = build.resolve(recorded, trial=None)
    saved, damaged = checkpoint.load(paths.run_folder(run_id), pick_device(device))
    training = build.make_training(config)
    if saved["step"] < training.steps:
        raise NormbenchError(
            "; ".join(damaged) or f"the last checkpoint of run {run_id} is missing",
            f"the one before it, of step {saved['step']} of {training.steps}, is not the final model; "
            "train the run again with --rerun",
        )
    with checkpoint_mismatch(run_id):
        training.model.load_state_dict(saved["model"])
    return config, training


@contextmanager
def checkpoint_mismatch(run_id: str) -> Iterator[None]:
    """Turn the errors of loading a mismatched state dict into one that says what to do."""
    try:
        yield
    except (RuntimeError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise NormbenchError(
            f"the checkpoint of run {run_id} does not fit its network ({first_sentence(error)})",
            "it was made by another version; train the run again with --rerun",
        ) from error
