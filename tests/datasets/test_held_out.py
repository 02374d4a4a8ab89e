"""A validation set that is held out of a training set: stratified, by the seed, and nothing twice."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from normbench_cli import build
from normbench_cli.config import make_config
from normbench_cli.datasets._images.held_out import held_out
from normbench_cli.datasets._images.streaming import StreamedImages
from normbench_cli.errors import UsageError
from tests.datasets.made_files import MakePictures


@settings(max_examples=25)
@given(st.lists(st.integers(0, 3), min_size=20, max_size=60), st.floats(0.2, 0.8), st.integers(0, 99))
def test_every_example_is_on_one_side_and_every_class_gives_its_share(
    labels: list[int], fraction: float, seed: int
) -> None:
    given_labels = torch.tensor(labels)
    kept, held = held_out(given_labels, fraction, seed)
    assert torch.cat([kept, held]).sort().values.tolist() == list(range(len(labels)))
    for label in set(labels):
        count = labels.count(label)
        assert int((given_labels[held] == label).sum()) == round(fraction * count)
    assert held_out(given_labels, fraction, seed)[1].tolist() == held.tolist()


def test_another_seed_holds_out_others() -> None:
    labels = torch.arange(100) % 10
    assert held_out(labels, 0.2, 0)[1].tolist() != held_out(labels, 0.2, 1)[1].tolist()


def test_a_configuration_trains_on_what_is_left_and_the_test_set_stays() -> None:
    plain = build.images_of(make_config({"data": "digits:size=8"}))
    divided = build.images_of(make_config({"data": "digits:size=8", "validation": 0.2}))
    assert (len(divided.train), len(divided.validation or ())) == (1150, 287)
    assert divided.test is plain.test
    assert (divided.mean, divided.std) == (plain.mean, plain.std)


def test_a_fraction_that_leaves_nothing_and_data_with_a_validation_set_are_refused() -> None:
    with pytest.raises(UsageError, match="0 are held out"):
        build.images_of(make_config({"data": "digits:size=8", "validation": 0.001}))
    with pytest.raises(UsageError, match="has a validation set"):
        build.images_of(make_config({"data": "shifted_digits", "validation": 0.2}))


def test_of_image_files_the_part_held_out_is_read_as_the_test_set_is(pictures: MakePictures) -> None:
    place = pictures({"train/cat": 10, "train/dog": 10, "test/cat": 2, "test/dog": 2})
    config = make_config({"data": f"folder:path={place},size=16", "validation": 0.3, "model": "resnet20"})
    divided, whole = build.images_of(config), build.load_images(config.data)
    assert isinstance(divided, StreamedImages)
    assert isinstance(whole, StreamedImages)
    assert divided.validation is not None
    kept, held = held_out(whole.train.labels, 0.3, 0)
    assert [divided.train.path(i) for i in range(14)] == [whole.train.path(int(i)) for i in kept]
    assert [divided.validation.path(i) for i in range(6)] == [whole.train.path(int(i)) for i in held]
    assert torch.equal(divided.validation[0][0], divided.validation[0, 7][0])  # no random crop
    assert len(whole.train) == 20
