"""Names of metrics: ``split/name@condition``, and their units."""

from __future__ import annotations

from dataclasses import dataclass

SPLITS = ("train", "validation", "test")
UNITS = {  # by the last part of the name; for other names the suffix says the unit
    "accuracy": "fraction",
    "worst_group_accuracy": "fraction",
    "accuracy_drop": "fraction",
    "accuracy_sd0": "fraction",
    "accuracy_sd1": "fraction",
    "accuracy_clip_only": "fraction",
    "corruption_error": "fraction",  # mean error over the five severities of a corruption
    "mean_corruption_error": "fraction",  # mean of those over the corruptions that corruptions_in_mean counts
    "samples_per_s": "1/s",
    "unconverged": "fraction",
    "damaged_images": "images",
}
SUFFIXES = {"_ms": "ms", "_bytes": "bytes", "_s": "s"}


@dataclass(frozen=True)
class MetricName:
    """``test/accuracy@bim`` is the accuracy on the split ``test`` under the condition ``bim``."""

    split: str
    name: str
    condition: str

    def __str__(self) -> str:
        start = f"{self.split}/" if self.split else ""
        return f"{start}{self.name}" + (f"@{self.condition}" if self.condition else "")


def parse_metric(full: str) -> MetricName:
    rest, _, condition = full.partition("@")
    split, slash, name = rest.partition("/")
    return MetricName(split, name, condition) if slash and split in SPLITS else MetricName("", rest, condition)


def unit_of(full: str) -> str:
    last = parse_metric(full).name.rpartition("/")[2]
    if last in UNITS:
        return UNITS[last]
    return next((unit for suffix, unit in SUFFIXES.items() if last.endswith(suffix)), "")
