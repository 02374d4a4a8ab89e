"""What `convert` reports."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Conversion:
    """What `convert` did, by the original names of the model's modules."""

    spec: str
    converted: dict[str, str] = field(default_factory=dict)  # norm -> its replacement
    in_front: dict[str, str] = field(default_factory=dict)  # operation with a norm before it now -> why this one
    weights: list[str] = field(default_factory=list)  # operations whose weight is normalized now
    biases: list[str] = field(default_factory=list)  # operations that got a bias, because the norm's is gone
    kept: dict[str, str] = field(default_factory=dict)  # what was left unchanged -> why
    notes: dict[str, str] = field(default_factory=dict)  # differences that might surprise

    def __str__(self) -> str:
        lines = [f"{count} norms became {what}" for what, count in Counter(self.converted.values()).items()]
        counts = {"norms in front of operations": self.in_front, "weights normalized": self.weights}
        lines += [f"{len(where)} {what}" for what, where in counts.items() if where]
        lines += [f"{len(self.biases)} operations got a bias"] if self.biases else []
        lines += [f"kept {name}: {why}" for name, why in self.kept.items()]
        lines += [f"{name}: {what}" for name, what in self.notes.items()]
        return "\n".join(lines or ["nothing to convert"])
