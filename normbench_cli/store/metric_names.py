"""Names of metrics: ``split/name@condition``, and their units."""

from __future__ import annotations

from dataclasses import dataclass

SPLITS = ("train", "validation", "test")
UNITS = {  # by the last piece of the name; a suffix of the name itself says the rest
    "accuracy": "fraction",
    "worst_group_accuracy": "fraction",
    "accuracy_drop": "fraction",
    "accuracy_sd0": "fraction",
    "accuracy_sd1": "fraction",
    "accuracy_clip_only": "fraction",
    "corruption_error": "fraction",  # the mean error over a corruption's five severities
    "mean_corruption_error": "fraction",  # the mean of those over corruptions, as many as corruptions_in_mean says
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
