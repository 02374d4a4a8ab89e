"""The generalized geometric median, as a function and as a normalization layer's step.

mu = argmin_y sum |x_i - y|^phi, found by Newton's method inside a bracket.  README.md beside this file explains the
parts, the shapes of their tensors and what is saved for the backward pass.
"""
