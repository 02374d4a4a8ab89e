"""The generalized geometric median, as a function and as a normalization layer's step.

mu = argmin_y sum |x_i - y|^phi, found by Newton's method inside a bracket.  The parts, the shapes of their tensors and
what is saved for the backward pass are explained in README.md beside this file.
"""
