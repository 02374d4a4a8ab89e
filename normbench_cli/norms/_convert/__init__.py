"""`convert(model, spec)`: the norms of any model are replaced by those of a spec, in place.

It works in two phases.  `plan.plan_conversion` decides everything and makes the new layers, and leaves the model as it
is; whatever cannot be is found there.  `apply.apply_conversion` then changes the model and decides nothing.

    plan.py         which modules are replaced, by what, and what else follows from that (biases, weights)
    adjacency.py    which operation feeds which norm, traced from a run or guessed from the order of definition
    replacement.py  what a spec asks for; which modules are norms; one new layer with an old one's parameters
    prenorm.py      a norm and its operation, in the operation's place
    apply.py        the changes to the model
    report.py       `Conversion`: what was done, by the names of the model's modules

Two kinds of norms are told apart.  Most stand where the model's author put them, somewhere near an operation; a spec
whose norm belongs before operations removes them and puts its layers before the operations that they served.  Others
were made to stand before an operation (they came with a `PreNorm`, or their layer is registered so) and are replaced on
the spot.
"""
