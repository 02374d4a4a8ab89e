"""Changing the tag or note of recorded runs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from normbench_cli.errors import NormbenchError
from normbench_cli.store import Store

pytestmark = pytest.mark.every_database


def test_all_are_changed_or_none(store: Store, enter: Callable[..., str]) -> None:
    run_id = enter()
    with pytest.raises(NormbenchError, match="run ffffffff has been removed"):
        store.label([run_id, "ffffffff"], "tag", "t")
    assert store.find(run_id).tag == ""
    store.label([run_id], "note", "n")
    assert (store.find(run_id).tag, store.find(run_id).note) == ("", "n")


def test_a_running_run_keeps_its_new_tag(store: Store) -> None:
    run_id = store.begin({"tag": "old"}, "f", {}, argv=[])
    with Store.open() as other:
        other.label([run_id], "tag", "new")
    store.record(run_id, {"train/loss": 1.0}, epoch=1, step=1)
    store.end(run_id, "interrupted")
    store.reopen(run_id, 1)
    store.end(run_id, "finished")
    run = store.find(run_id)
    assert (run.tag, run.status, run.config) == ("new", "finished", {"tag": "old"})
