"""Training and evaluation.  The engine uses torch alone: it yields events, prints nothing and knows no database.

How the parts meet:

    protocols.py       what the engine needs of data sets and probes; any class with these attributes will do
    step.py            `Learner` (model, objective, optimizer), `train_step`, `set_learning_rate`
    training.py        `Training`: a `Learner` with its data and how far it has come; `state_dict` for checkpoints
    loop.py            `fit(training)`, a generator: a `Record` for each epoch, `Progress` in between
    data_parallel.py   several processes with a part of every batch each
    epoch_meter.py     losses, accuracy and step times of an epoch
    evaluate.py        one pass over a split in eval mode, clean or disturbed; loss and accuracy
    groups.py          accuracy by group
    selection.py       which epoch a run is judged by
    damaged_files.py   image files that cannot be read: reported once, counted
    events.py          `Progress`, `Record`, `Notice`; the exception `Diverged`
    checkpoint.py      writing and reading checkpoints
    compiled.py        a model under torch.compile
    crossval/          cross-validation of graph data sets, by the same step, learning rate and scoring pass

Three rules hold throughout.  Nothing in a step reads a value from the device, so no step waits for an accelerator (only
torch's loss scaler does, under fp16).  Evaluation and probes are outside the times that are measured.  And all that
training depends on is in `Training.state_dict`, so a resumed run gives the bits of an uninterrupted one.
"""
