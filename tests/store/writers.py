"""What other processes do to a database.  They begin anew, so this imports nothing but the store."""

from __future__ import annotations

from normbench_cli.store import Store


def write_a_run(location: str, records: int) -> None:
    with Store.open(location) as store:
        run_id = store.begin({"norm": "bn"}, "f", {"facts": "the same"}, argv=[])
        for epoch in range(records):
            store.record(run_id, {"train/loss": 1.0}, epoch=epoch)
        store.end(run_id, "finished")


def read_and_write(location: str) -> None:
    """A report, or a run of its own."""
    with Store.open(location) as store:
        store.count()
        store.begin({}, "f", {}, argv=[])
