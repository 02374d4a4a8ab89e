"""Which runs make one profile, and what a profile says of itself."""

from __future__ import annotations

import pytest

from normbench_cli.reporting.profiles.recorded import places_of, read_profiles, samples_of
from normbench_cli.store import Store
from tests.reporting.profiles.conftest import PLACE, Enter


def test_runs_of_one_process_are_profiles_by_when_they_began(store: Store, enter: Enter) -> None:
    first = enter({"none": [1.0], "batchnorm": [2.0]})
    second = enter({"none": [1.0], "popnorm": [2.0]}, day=1)
    assert [dict(profile.runs) for profile in read_profiles(store)] == [first, second]


def test_a_profile_has_its_date_host_versions_and_settings(store: Store, enter: Enter) -> None:
    enter({"none": [1.0]}, git_sha="0123456789abc", device_name="a processor")
    (profile,) = read_profiles(store)
    names = ("date", "host", "machine", "threads", "torch", "version", "model")
    facts = ["2026-03-01", "here", "a processor", "2", "2.9", "1.0 012345678", "resnet20"]
    assert [profile.fact(name) for name in names] == facts


@pytest.mark.parametrize("calibration", [2.0, None])
def test_samples_are_in_calibrations_of_their_own_round(store: Store, enter: Enter, calibration: float | None) -> None:
    (run_id,) = enter({"none": [1.0, 3.0]}, calibration=calibration).values()
    assert list(places_of(store, run_id)) == [PLACE]
    samples = samples_of(store, run_id, PLACE)
    assert samples.times.tolist() == [1.0, 3.0]
    assert samples.calibrated.tolist() == ([0.5, 1.5] if calibration else [1.0, 3.0])
