"""What weight norms have in common: the filters of an operation's weight.

A filter is the part of the weight that computes one output channel.  `filter_axis(op)` is the dimension that indexes
them: 0 in a linear layer (outputs, inputs) and a convolution (outputs, inputs / groups, kernel...), 1 in a transposed
convolution (inputs, outputs, kernel...).  Lengths and means are taken over all other dimensions and keep them with size
1, so they broadcast over the weight.

The norms are torch parametrizations: the stored parameters are `op.parametrizations.weight.original` (weight
normalization stores two, the length `original0` and the direction `original1`), and `op.weight` is computed from them.
"""
