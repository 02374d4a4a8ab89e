"""normbench: the laboratory for normalization layers."""

__version__ = "0.1.0"
