"""What normbench does on a device without float64, alone in a process: `python -m tests.device.on_standin TASK...`."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from typing import Any

os.environ["NORMBENCH_COMPILE"] = "never"

import torch
from torch import Tensor

import normbench_cli as nb
from normbench_cli.engine import checkpoint
from normbench_cli.norms.ggm import generalized_median
from normbench_cli.registry import MODELS, NORMS
from tests.device.standin import NAME, OnStandin, standin


def norms() -> dict[str, Any]:
    """Largest difference to the CPU of output and gradients, by norm, of those that are layers of their own."""
    names = [name for name, entry in NORMS.entries.items() if not entry.facts.graphs]
    return {name: difference(name) for name in names if not NORMS.parse_norm(name).weight_norms}


def difference(name: str) -> float:
    torch.manual_seed(0)
    data = torch.randn(16, 4, 3, 3) * 3 + 1
    results = []
    for device in ("cpu", NAME):
        torch.manual_seed(0)
        layer = NORMS.build(name, num_features=4).to(device)
        x = data.clone().to(device).requires_grad_()
        for _ in range(2):
            y = layer(x)
        y.square().sum().backward()
        layer.eval()
        results.append([y, x.grad, layer(x)])
        if device == NAME:
            assert isinstance(y, OnStandin), name
    return max(float((a.detach().cpu() - b.detach().cpu()).abs().max()) for a, b in zip(*results, strict=True))


def median() -> dict[str, Any]:
    torch.manual_seed(0)
    data, results = torch.randn(50, 6), []
    for device in ("cpu", NAME):
        x, phi = (t.to(device).requires_grad_() for t in (data.clone(), torch.full((6,), 1.4)))
        mu = generalized_median(x, phi)
        mu.sum().backward()
        results.append([mu, x.grad, phi.grad])
    return {"same": all(torch.equal(a.detach().cpu(), b.detach().cpu()) for a, b in zip(*results, strict=True))}


def networks() -> dict[str, Any]:
    """Whether gradients are on the device, of a network with each norm; of norms of graphs the layer alone."""
    found = {}
    for name, entry in NORMS.entries.items():
        if entry.facts.graphs:
            net = NORMS.build(name, num_features=4).to(NAME)
            outputs = net(torch.randn(9, 4).to(NAME), (torch.arange(9) // 3).to(NAME), 3)
        else:
            net = MODELS.build("mlp", norm=name, num_classes=2, in_channels=3, size=8, width=8).to(NAME)
            outputs = net(torch.randn(8, 3, 8, 8).to(NAME))
        outputs.sum().backward()
        found[name] = all(isinstance(p.grad, OnStandin) for p in net.parameters() if p.grad is not None)
    return found


def train() -> dict[str, Any]:
    """A training with a norm, its evaluation under an attack and a corruption, on the device and on the CPU."""
    load = checkpoint.load
    checkpoint.load = lambda folder, device: load(folder, torch.device("cpu"))  # torch cannot read onto the stand-in
    given: dict[str, Any] = {"model": "mlp:width=16", "iterations": 3, "batch_size": 64, "probes": 1, "compile": False}
    return {norm: {device: trained(norm, device, given) for device in ("cpu", NAME)} for norm in ("bn", "diffphi")}


def trained(norm: str, device: str, given: dict[str, Any]) -> dict[str, float]:
    (result,) = nb.train(norm=norm, device=device, rerun=True, **given)
    scored = nb.evaluate(result.id, attacks="bim:steps=1", corruptions="fog:severity=1", device=device)
    return {**result.metrics, **scored.metrics}


def profile() -> dict[str, Any]:
    shapes = [(8, 4, 6, 6)]
    frame = nb.profile(["augnorm:phi=1.5"], shapes, device=NAME, rounds=5, only="both", model="mlp", memory=False)
    said = [message for message in frame.get("message", []) if isinstance(message, str)]
    return {"statuses": sorted(set(frame["status"])), "messages": said}


def refusal() -> dict[str, Any]:
    """What the stand-in says to float64, made there, converted or computed."""
    x = torch.ones(2).to(NAME)
    attempts: dict[str, Callable[[], Tensor]] = {
        "made": lambda: torch.zeros(2, dtype=torch.float64, device=NAME),
        "converted": x.double,
        "copied": lambda: x.cpu().double().to(NAME),
    }
    said = {}
    for how, attempt in attempts.items():
        try:
            said[how] = str(attempt().dtype)
        except TypeError as error:
            said[how] = str(error)
    return said


TASKS: dict[str, Callable[[], dict[str, Any]]] = {
    task.__name__: task for task in (refusal, norms, networks, median, train, profile)
}

if __name__ == "__main__":
    with standin():
        print(json.dumps({task: TASKS[task]() for task in sys.argv[1:]}))
