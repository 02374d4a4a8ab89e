"""What layers with a solver keep of its work, and how it is read."""

from __future__ import annotations

from torch import Tensor, nn


class SolverRecord(nn.Module):
    """A layer that adds up, in the buffer `record`, calls, mean iterations, most iterations, shares of channels not
    converged and the largest error bound."""

    record: Tensor

    def solver_statistics(self) -> dict[str, Tensor]:
        """Since the last reset: iterations (mean over steps and channels, most), share of channels not converged,
        largest error bound in standard deviations.  Tensors: nothing waits until somebody reads them."""
        calls = self.record[0].clamp_min(1)
        return {
            "iterations_mean": self.record[1] / calls,
            "iterations_max": self.record[2].clone(),
            "unconverged": self.record[3] / calls,
            "residual": self.record[4].clone(),
        }

    def reset_solver_statistics(self) -> None:
        self.record.zero_()
