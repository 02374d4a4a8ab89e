"""Names of metrics: ``split/name@condition``, and their units."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

SPLITS = ("train", "validation", "test")
UNITS = {  # by the last part of the name; for other names the suffix gives the unit
    "accuracy": "fraction",
    "top5_accuracy": "fraction",
    "worst_group_accuracy": "fraction",
    "accuracy_drop": "fraction",
    "accuracy_sd0": "fraction",
    "accuracy_sd1": "fraction",
    "accuracy_clip_only": "fraction",
    "corruption_error": "fraction",  # mean error over the five severities of a corruption
    "mean_corruption_error": "fraction",  # its mean over corruptions, whose number is corruptions_in_mean
    "samples_per_s": "1/s",
    "unconverged": "fraction",
    "damaged_images": "images",
    "limit_fraction": "fraction",
    "norm_share": "fraction",  # of a step's time that the norm `none` would save
}
SUFFIXES = {"_ms": "ms", "_bytes": "bytes", "_s": "s"}
HIGHER_IS_BETTER = ("accuracy", "worst_group_accuracy", "accuracy_clip_only", "samples_per_s", "limit_fraction")
LOWER_IS_BETTER = (
    *("loss", "objective", "accuracy_drop", "corruption_error", "mean_corruption_error", "unconverged"),
    "norm_share",
)
CAUTIONS = {  # by condition, for scores whose epoch was chosen by the score itself
    "best": "is the highest test accuracy of any epoch, chosen by the test scores themselves, so it is optimistic; "
    "with validation=0.1, test/accuracy@best_average is that of an epoch chosen by held-out data",
    "curve_best": "is that of the mean curve's best epoch, chosen by the score that it reports, so it is optimistic",
    "best_per_fold": "is that of each fold's best epoch, chosen by the score that it reports, so it is optimistic",
}
LOWER_UNITS = ("ms", "s", "bytes")  # time and memory


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


def higher_is_better(full: str) -> bool | None:
    """Whether higher values of a metric are better; None if neither higher nor lower ones are."""
    last = parse_metric(full).name.rpartition("/")[2]
    if last in HIGHER_IS_BETTER:
        return True
    return False if last in LOWER_IS_BETTER or unit_of(full) in LOWER_UNITS else None


def cautions(names: Iterable[str]) -> list[str]:
    """A sentence for each metric whose epoch was chosen by the score itself."""
    found = [(name, CAUTIONS.get(parse_metric(name).condition)) for name in dict.fromkeys(names)]
    return [f"{name} {caution}." for name, caution in found if caution and "_sd" not in name]
