"""Cross-validation of graph data sets: one model per fold, folds trained in parallel, statistics over the folds.

Modules:

    split.py            which fold each graph belongs to: stratified, shuffled by the seed; the training, validation and
                        test graphs of a fold
    fold.py             `FoldPlan`, how all folds are trained, and `Fold`, one fold: a `Learner` and its indices
    train.py            trains one fold with the step, the learning rate and the scoring pass of the main loop
    parallel.py         trains all folds: each in its own process if there are cores for it, else in a thread
    process_tuning.py   process-wide settings of those processes and this one: malloc, threads
    statistics.py       curves averaged over folds; the accuracy at three choices of the epoch, with its sd
    loop.py             `cross_validate`, the generator of events that puts it all together

A fold's scores are a tensor (epochs, splits, 2): the sum of losses and the number of correct predictions, for the
training split and the validation split, if any.  It is in shared memory, as are the epoch and step counts, so that the
parent can show progress.

A fold's results are bit-identical alone and beside others, because it shares no random generator with them.  So a run
that was interrupted trains only the folds that are not recorded in full (`finished_folds`).
"""

from normbench_cli.engine.crossval.fold import FoldPlan
from normbench_cli.engine.crossval.loop import cross_validate
from normbench_cli.engine.crossval.split import FoldSplits, assign_folds
from normbench_cli.engine.crossval.statistics import Curves, finished_folds, fold_metric
from normbench_cli.engine.crossval.train import shuffled_batches

__all__ = [
    "Curves",
    "FoldPlan",
    "FoldSplits",
    "assign_folds",
    "cross_validate",
    "finished_folds",
    "fold_metric",
    "shuffled_batches",
]
