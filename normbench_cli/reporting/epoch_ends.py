"""When the epochs of a run ended: after how many steps, and how many seconds of training."""

from __future__ import annotations

import pandas as pd
from sqlalchemy import select

from normbench_cli.store import Store
from normbench_cli.store.rows import unpack
from normbench_cli.store.schema import SeriesChunk

TIME = "step_time_ms"  # the series of training step times


def epoch_ends(store: Store, run_id: str) -> pd.DataFrame:
    """Columns at (the epoch), seconds, steps: training time and steps at the end of each epoch, without evaluation.  In
    a thinned series, the kept steps represent the others."""
    columns = (SeriesChunk.epoch, SeriesChunk.count, SeriesChunk.data)
    query = select(*columns).where(SeriesChunk.run_id == run_id, SeriesChunk.name == TIME).order_by(SeriesChunk.id)
    chunks = []
    with store.reading() as session:
        for epoch, count, data in session.execute(query):
            kept = unpack(data)
            chunks.append((epoch, sum(kept) / max(len(kept), 1) * count / 1000, count))
    times = pd.DataFrame(chunks, columns=["at", "seconds", "steps"]).groupby("at", as_index=False).sum()
    return times.assign(seconds=times["seconds"].cumsum(), steps=times["steps"].cumsum())
