"""`convert(model, spec)`: replace the norms of any model by those of a spec, in place.

It works in two phases.  `plan.plan_conversion` decides everything and creates the new layers, without changing the
model; all obstacles are found there.  `apply.apply_conversion` then changes the model and decides nothing.

    plan.py         which modules are replaced, by what, and what else follows from that (biases, weights)
    adjacency.py    which operation feeds which norm, traced from a run or guessed from the order of definition
    replacement.py  what a spec asks for; which modules are norms; a new layer with an old one's parameters
    prenorm.py      a norm and its operation as one module, in the operation's place
    apply.py        the changes to the model
    report.py       `Conversion`: what was done, by the names of the model's modules

There are two kinds of norms.  Most are where the model's author put them, somewhere near an operation; a spec whose
norm belongs before operations removes them and puts its layers before the operations that they served.  Others were
made to precede an operation (they came with a `PreNorm`, or their layer is registered that way) and are replaced where
they are.
"""
