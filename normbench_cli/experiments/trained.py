"""A finished run's training, with the weights of its last checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from normbench_cli import build, paths
from normbench_cli.config import RunConfig, make_config
from normbench_cli.device import pick_device
from normbench_cli.engine import checkpoint
from normbench_cli.engine.training import Training
from normbench_cli.errors import NormbenchError, first_sentence
from normbench_cli.experiments.result import naming_run
from normbench_cli.experiments.same_data import check_data
from normbench_cli.store import Store


def config_of_finished(run_id: str, store: Store) -> RunConfig:
    """The configuration of a run that kept a trained model, or an error that says why it has none."""
    run = store.find(run_id)
    if run.status != "finished":
        raise NormbenchError(f"run {run.id} is {run.status}", "only a finished run can be evaluated")
    if run.kind != "train":
        raise NormbenchError(f"run {run.id} is a {run.kind}, which trains no model", "see `normbench runs show`")
    if run.config.get("folds"):
        raise NormbenchError(f"run {run.id} is a cross-validation, which keeps no model", "see `normbench runs show`")
    with naming_run(run.id):
        return make_config(run.config)


def load_trained(
    run_id: str, store: Store, device: str = "auto", *, force: bool = False
) -> tuple[build.ResolvedConfig, Training]:
    """The configuration and the training of a finished run, after its last step, on a device.

    force: also with other data than those it was trained on.
    """
    recorded = config_of_finished(run_id, store)
    check_data(store.find(run_id), recorded, force=force)
    config = build.resolve(make_config(recorded.to_dict() | {"device": device}), trial=None)
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
    """Turn the errors of loading another network's state into one that says what to do."""
    try:
        yield
    except (RuntimeError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise NormbenchError(
            f"the checkpoint of run {run_id} does not fit its network ({first_sentence(error)})",
            "it was made by another version; train the run again with --rerun",
        ) from error
