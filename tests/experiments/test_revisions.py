"""A network that computes something else since: its runs have a fingerprint of their own, and earlier ones a notice."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from normbench_cli.config import RunConfig, make_config
from normbench_cli.experiments.identity import fingerprints
from normbench_cli.experiments.same_data import changed_sources


@pytest.fixture
def config() -> RunConfig:
    return make_config({"data": "toy_graphs", "model": "gin"})


def test_the_fingerprint_is_not_that_of_earlier_runs(config: RunConfig) -> None:
    assert fingerprints([config]) != [config.fingerprint()]
    other = make_config({"data": "toy_graphs", "model": "gcn"})
    assert fingerprints([other]) == [other.fingerprint()]


def test_an_earlier_run_is_told_of(config: RunConfig) -> None:
    said = [notice.text for notice in changed_sources(Mock(id="d322c4f1", details={}), config)]
    assert said == ["gin computes something else since run d322c4f1 was made: see its entry in the changelog"]
    assert not list(changed_sources(Mock(id="d322c4f1", details={"revisions": {"gin": 2}}), config))
