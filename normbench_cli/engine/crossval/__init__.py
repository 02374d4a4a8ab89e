"""Cross-validation of graph data sets: one model for each fold, folds trained side by side, statistics over the folds.

How the parts meet:

    split.py            which fold each graph belongs to: stratified, shuffled by the seed
    fold.py             `FoldPlan`, how all folds are trained, and `Fold`, one fold: a `Learner` and its indices
    train.py            trains one fold with the step, the learning rate and the scoring pass of the main loop
    parallel.py         trains all folds: each in a process of its own if there are cores for it, else in a thread
    process_tuning.py   what those processes, and this one, change for themselves: malloc, threads
    statistics.py       curves averaged over folds; the accuracy at three choices of the epoch, with its sd
    loop.py             `cross_validate`, the generator of events that puts it all together

A fold's scores are a tensor (epochs, 2, 2): for the training and the validation split the sum of losses and the number
of correct answers.  It lies in shared memory, as does the count of epochs and steps, so the parent can show progress.

A fold gives the same bits alone and beside others, because it shares no random generator with them.  So a run that was
interrupted trains only the folds that are not recorded in full (`finished_folds`).
"""

from normbench_cli.engine.crossval.fold import FoldPlan
from normbench_cli.engine.crossval.loop import cross_validate
from normbench_cli.engine.crossval.split import assign_folds
from normbench_cli.engine.crossval.statistics import Curves, finished_folds
from normbench_cli.engine.crossval.train import shuffled_batches

__all__ = ["Curves", "FoldPlan", "assign_folds", "cross_validate", "finished_folds", "shuffled_batches"]
