"""Training and evaluation.  The engine depends on torch alone: it yields events, prints nothing, uses no database.

Modules:

    protocols.py       the interfaces of data sets and probes; any class with these attributes will do
    step.py            `Learner` (model, objective, optimizer), `train_step`, `set_learning_rate`
    training.py        `Training`: a `Learner` with its data and progress; `state_dict` for checkpoints
    loop.py            `fit(training)`, a generator: a `Record` for each epoch, `Progress` in between
    data_parallel.py   several processes, each with a part of every batch
    epoch_meter.py     losses, accuracy and step times of an epoch
    evaluate.py        one pass over a split in eval mode, clean or perturbed; loss and accuracy
    groups.py          accuracy by group
    selection.py       model selection: which epoch's scores a run reports
    damaged_files.py   image files that cannot be read: reported once, counted
    events.py          `Progress`, `Record`, `Notice`; the exception `Diverged`
    checkpoint.py      writing and reading checkpoints
    compiled.py        a model under torch.compile
    crossval/          cross-validation of graph data sets, with the same step, learning rate and scoring pass

Three rules hold throughout.  No step reads a loss or a metric from the device.  A step waits for the accelerator only
under fp16 (torch's loss scaler), for the previous step's certificate of a search to a tolerance, and for the
convergence tests of a search synced over processes.  Evaluation and probes are excluded from measured times.
`Training.state_dict` holds everything that training depends on, so a resumed run is bit-identical to an uninterrupted
one.
"""
