"""What a page says of a run: everything that was recorded, and a command that repeats it."""

from __future__ import annotations

import json
import shlex

from normbench_cli.reporting.run_details import MAX_POINTS, run_details
from normbench_cli.store import Store
from tests.support import RunCommand, train


def test_every_part_of_a_run_is_there(two_norms: Store) -> None:
    run_id = two_norms.begin({"norm": "none", "seed": 3, "note": "why"}, "f", {"host": "here"}, argv=["train"])
    for epoch in range(1, 3 * MAX_POINTS + 1):
        two_norms.record(run_id, {"test/accuracy": epoch / 1000}, epoch=epoch)
    two_norms.record(run_id, {"once": 1.0})
    two_norms.end(run_id, "diverged", "loss is nan")
    found = run_details(two_norms, [run_id])
    assert list(found) == [run_id]
    run = found[run_id]
    assert (run["status"], run["message"], run["note"], run["environment"]) == (
        "diverged",
        "loss is nan",
        "why",
        {"host": "here"},
    )
    assert run["settings"]["seed"] == 3
    assert run["metrics"] == {"test/accuracy": 0.18, "once": 1.0}
    curve = run["curves"]["test/accuracy"]
    assert len(curve) == MAX_POINTS
    assert curve[-1] == [180, 0.18]
    assert "once" not in run["curves"]
    json.dumps(found)


def test_the_command_repeats_the_run(normbench: RunCommand) -> None:
    (run,) = train(
        normbench, "--model", "mlp", "--seeds", "1", "--norm", "popnorm:kappa=4,remove=none", "--set", "lr=0.02"
    )
    with Store.open(write=False) as store:
        command = run_details(store, [run["id"]])[run["id"]]["command"]
    program, *again = shlex.split(command)
    ended = normbench(*again, "--json")
    assert (program, ended.code) == ("normbench", 0), ended.err
    (repeated,) = json.loads(ended.out)["runs"]
    assert repeated["fingerprint"] == run["fingerprint"]
    assert repeated["metrics"]["train/loss"] == run["metrics"]["train/loss"]


def test_a_profile_is_repeated_by_its_own_command(two_norms: Store) -> None:
    run_id = two_norms.begin({"norm": "none"}, "p", {}, kind="profile", argv=["profile", "--norm", "a b"])
    assert run_details(two_norms, [run_id])[run_id]["command"] == "normbench profile --norm 'a b'"
