"""The bytes that a normalization layer must move between memory and processor, and its working set.

The unit is one tensor of the input's size (N C H W values):

| pass | read | written | moved | working set |
|---|---|---|---|---|
| forward, eval | x | y | 2 | x, y: 2 |
| backward | x, dy | dx | 3 | x, dy, dx: 3 |
| both | x; x, dy | y; dx | 5 | x, y, dy, dx: 4 |

No implementation can avoid reading each input of a pass once and writing each output once.  Batch statistics need a
second pass over the values, but not over memory: a layer that processes one channel after the other finds it in the
cache.  Most do not, so a batch norm that reads x twice cannot exceed 2/3 of the limit in its forward pass.  Backward
needs the normalized input, from x or y, and so reads a second tensor besides dy; forward and backward are apart in a
network, so x is read again.  Parameters and statistics, a few values per channel, are not counted, nor is the gradient
that an identity passes on: a layer that does nothing must move nothing.

For `nn.BatchNorm2d(64)` on 128x64x32x32 in float32 a tensor has 128 * 64 * 32 * 32 * 4 = 33,554,432 bytes, so forward
and backward must move 5 * 33,554,432 = 167,772,160 bytes.
"""

from __future__ import annotations

from normbench_cli.measure.cases import LayerCase

MOVED = {"forward": 2, "eval": 2, "backward": 3, "both": 5}
WORKING_SET = {"forward": 2, "eval": 2, "backward": 3, "both": 4}


def moved_bytes(case: LayerCase) -> int:
    """The bytes that any normalizing layer must read and write, see above."""
    return MOVED[case.timed] * case.tensor_bytes


def working_set_bytes(case: LayerCase) -> int:
    """The size of the tensors that are moved; the speed depends on whether they fit into a cache."""
    return WORKING_SET[case.timed] * case.tensor_bytes
