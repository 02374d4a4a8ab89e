"""normbench profile: what norms cost, as layers alone and in whole training steps, against each other."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from normbench_cli.cli import _options
from normbench_cli.cli.train import setting
from normbench_cli.errors import EXIT_OK, UsageError
from normbench_cli.registry import NORMS
from normbench_cli.registry.spec import split_list

SHAPES = ["128x64x32x32", "128x128x16x16", "128x256x8x8", "128x512x4x4"]


def profile(
    norm: Annotated[list[str] | None, setting("norm", several=NORMS)] = None,
    act: Annotated[str | None, setting("act")] = None,
    model: Annotated[str | None, setting("model")] = None,
    data: Annotated[str | None, setting("data")] = None,
    batch_size: Annotated[int | None, setting("batch_size")] = None,
    shape: Annotated[
        list[str] | None, typer.Option("--shape", help="Shape of a layer's input, like 128x64x32x32 (several).")
    ] = None,
    only: Annotated[str, typer.Option("--only", help="layers, model, or both.")] = "both",
    rounds: Annotated[int, typer.Option("--rounds", min=5, help="Rounds; each contender runs once a round.")] = 20,
    precision: Annotated[
        str | None,
        typer.Option("--precision", help="Go on until every ratio is known to this, like 2%, or --seconds are over."),
    ] = None,
    seconds: Annotated[float, typer.Option("--seconds", min=1, help="Time for --precision, a comparison.")] = 60,
    device: Annotated[str | None, setting("device")] = None,
    amp: Annotated[str | None, setting("amp")] = None,
    compile: Annotated[bool | None, setting("compile", "--compile/--no-compile")] = None,
    channels_last: Annotated[bool | None, setting("channels_last", "--channels-last/--no-channels-last")] = None,
    db: _options.Database = None,
    json: _options.Json = False,
    debug: _options.Debug = False,
    quiet: _options.Quiet = False,
) -> int:
    """Time and memory of norms against `none` and `batchnorm`.

    Every contender is warmed up, then runs once a round in random order; ratios are medians of the rounds' own ratios
    with a bootstrap 95 % interval.  Raw samples are kept in the database.
    """
    from normbench_cli.cli._output import print_json
    from normbench_cli.config import make_config
    from normbench_cli.runs import profile as profiling
    from normbench_cli.store import Store

    if only not in ("layers", "model", "both"):
        raise UsageError(f"--only {only} is not known", "give layers, model or both")
    names = [NORMS.canonical(spec) for text in norm or ["popnorm"] for spec in split_list(text)]
    names = list(dict.fromkeys(["none", "batchnorm", *names]))
    values = {"act": act, "model": model, "data": data, "batch_size": batch_size, "device": device, "amp": amp}
    values |= {"compile": compile, "channels_last": channels_last}
    given = {name: value for name, value in values.items() if value is not None}
    plan = profiling.Plan(
        configs=[make_config({**given, "norm": name}) for name in names],
        shapes=[read_shape(text) for text in shape or SHAPES] if only != "model" else [],
        model=only != "layers",
        rounds=rounds,
        precision=read_share(precision),
        seconds=seconds,
    )
    with Store.open(db) as store:
        outcome = profiling.execute(plan, store)
    if json:
        print_json(outcome)
    else:
        show(outcome)
    return EXIT_OK


def read_shape(text: str) -> tuple[int, ...]:
    pieces = text.lower().split("x")
    if not 2 <= len(pieces) <= 5 or not all(piece.isdigit() and int(piece) > 0 for piece in pieces):
        raise UsageError(f"--shape {text} is not a shape", "write batch x channels x height x width, like 128x64x32x32")
    return tuple(int(piece) for piece in pieces)


def read_share(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = 0
    if not 0 < value < 1:
        raise UsageError(f"--precision {text} is not a share", "write 2% or 0.02")
    return value


def show(outcome: dict[str, Any]) -> None:
    """A table a place: each contender's time, what it keeps for backward, and its ratio to the references."""
    from normbench_cli.cli._output import print_table

    places: dict[str, dict[str, dict[str, str]]] = {}
    for result in outcome["results"]:
        place = f"model {result['model']}" if "model" in result else f"layer {result['shape']}"
        row = places.setdefault(place, {}).setdefault(result["contender"], {"contender": result["contender"]})
        if result["metric"] == "step_time_ms":
            row["step ms (median)"] = f"{result['median']:.3f}" + (" noisy" if result["noisy"] else "")
            row["IQR"] = f"{result['iqr']:.3f}"
            row["n"] = str(result["n"])
            interval = f"{result['ratio']:.2f} [{result['ratio_low']:.2f}, {result['ratio_high']:.2f}]"
            row[f"time / {result['reference']}"] = interval
        elif result["metric"] == "solver/iterations_mean":
            row["solver iterations"] = f"{result['median']:.2f}"
        elif result["metric"] == "saved_activation_bytes":
            row["saved for backward"] = f"{result['median'] / 2**20:.2f} MiB"
            shown = "-" if result["ratio"] is None else f"{result['ratio']:.2f}"
            row[f"saved / {result['reference']}"] = shown
    for number, (place, rows) in enumerate(places.items()):
        if number:
            print()
        print_table(list(rows.values()), title=f"{place}, {outcome['results'][0]['device']}")
    print("Ratios: median over rounds, 95 % bootstrap interval.  Training mode, forward and backward.")
    if any(result["noisy"] for result in outcome["results"]):
        print("noisy: the spread of this machine's timings was large; repeat when it is quiet, or with --precision.")
