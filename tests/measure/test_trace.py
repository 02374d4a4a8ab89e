"""Layers have names in a trace, forward and backward, and nothing else has."""

from __future__ import annotations

import json
from collections import Counter

import torch
from torch import nn

from normbench_cli.measure.trace import named_ranges, nodes_between, traced

CPU = torch.device("cpu")


def names_in(content: bytes) -> Counter[str]:
    return Counter(event.get("name", "") for event in json.loads(content)["traceEvents"])


def test_a_trace_has_the_ranges_of_named_layers() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU(inplace=True), nn.Linear(4, 2))
    x = torch.randn(8, 4)
    with named_ranges({"1 bn": model[1]}):
        names = names_in(traced({"one step": lambda: model(x).sum().backward()}, CPU))
    assert names["one step"] == names["1 bn forward"] == names["1 bn backward"] == 1
    assert not model[1]._forward_hooks
    assert not model[1]._forward_pre_hooks
    assert names_in(traced({"again": lambda: model(x).sum()}, CPU))["1 bn forward"] == 0


def test_the_nodes_of_a_layer_end_at_its_inputs_and_leave_out_parameters() -> None:
    before, weight = torch.ones(2, requires_grad=True) * 2, torch.ones(2, requires_grad=True)
    inner = before * weight
    nodes = nodes_between(inner + 1, (before,))
    assert {node.name() for node in nodes} == {"AddBackward0", "MulBackward0"}
    assert before.grad_fn not in nodes
    assert nodes_between(torch.ones(2), (before,)) == []
    assert nodes_between(None, ()) == []
