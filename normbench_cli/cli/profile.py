"""normbench profile: the cost of norms, as single layers and in whole training steps, compared with each other."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from normbench_cli import interrupts, store
from normbench_cli.cli._options import Common, Settings, common_options, config_options
from normbench_cli.cli._output import echo, print_json, print_table
from normbench_cli.errors import EXIT_OK, NormbenchError, UsageError
from normbench_cli.registry.spec import split_list

DEFAULT_NORM = "popnorm"
SHAPES = ["128x64x32x32", "128x128x16x16", "128x256x8x8", "128x512x4x4"]
PANELS = {
    "What is measured": ("norm", "act", "model", "data", "batch_size"),
    "Device and speed": ("device", "amp", "compile", "channels_last"),
}
WHAT, HOW_LONG = "What is measured", "How long"


@config_options(PANELS, several=("norm",), defaults={"norm": DEFAULT_NORM})
@common_options
def profile(
    settings: Settings,
    shape: Annotated[
        list[str] | None,
        typer.Option(
            "--shape",
            metavar="NxCxHxW",
            help="Shape of a layer's input (may be repeated).",
            show_default=", ".join(SHAPES),
            rich_help_panel=WHAT,
        ),
    ] = None,
    only: Annotated[str, typer.Option("--only", help="Measure layers, model, or both.", rich_help_panel=WHAT)] = "both",
    rounds: Annotated[
        int,
        typer.Option(
            "--rounds",
            metavar="N",
            min=5,
            help="Rounds; each candidate runs once in each round.",
            rich_help_panel=HOW_LONG,
        ),
    ] = 20,
    precision: Annotated[
        str | None,
        typer.Option(
            "--precision",
            metavar="FRACTION",
            help="Continue until every ratio is known to this fraction, like 2%, or --seconds are over.",
            rich_help_panel=HOW_LONG,
        ),
    ] = None,
    seconds: Annotated[
        float,
        typer.Option(
            "--seconds",
            metavar="S",
            min=1,
            help="With --precision, the time for a comparison.",
            rich_help_panel=HOW_LONG,
        ),
    ] = 60,
    *,
    common: Common,
) -> int:
    """Measure time and memory of norms against `none` and `batchnorm`.

    Every candidate is warmed up, then runs once in each round, in random order.  Ratios are medians of the rounds'
    own ratios, with a bootstrap 95 % interval.  The raw samples are recorded.

    Examples:
      normbench profile --norm popnorm,augnorm --only layers
      normbench profile --norm popnorm --only model --model resnet18 --precision 2%
    """
    from normbench_cli.experiments import profile as use_case

    plan = use_case.plan_profile(
        [spec for text in settings.pop("norm", [DEFAULT_NORM]) for spec in split_list(text)],
        settings=settings,
        shapes=[parse_shape(text) for text in shape or SHAPES],
        only=only,
        rounds=rounds,
        precision=parse_fraction(precision),
        seconds=seconds,
    )
    with interrupts.raised(), store.Store.open(common.db) as opened:
        outcome = use_case.run_profile(plan, opened)
        lost = outcome.pop("lost")
    if common.json:
        print_json(outcome)
    else:
        print_profile(outcome["results"])
    if lost:
        raise NormbenchError("; ".join(lost), "keep what was printed, or profile again")
    return EXIT_OK


def parse_shape(text: str) -> tuple[int, ...]:
    pieces = text.lower().split("x")
    if not 2 <= len(pieces) <= 5 or not all(piece.isascii() and piece.isdigit() and int(piece) > 0 for piece in pieces):
        raise UsageError(f"--shape {text} is not a shape", "write batch x channels x height x width, like 128x64x32x32")
    return tuple(int(piece) for piece in pieces)


def parse_fraction(text: str | None) -> float | None:
    if text is None:
        return None
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = 0
    if not 0 < value < 1:
        raise UsageError(f"--precision {text} is not a fraction below 1", "write 2% or 0.02")
    return value


def print_profile(results: list[dict[str, Any]]) -> None:
    """A table for each shape and model: a row for each candidate."""
    tables: dict[str, dict[str, dict[str, str]]] = {}
    for result in results:
        title = f"model {result['model']}" if "model" in result else f"layer {result['shape']}"
        row = tables.setdefault(title, {}).setdefault(result["contender"], {"norm": result["contender"]})
        row |= cells(result)
    for number, (title, rows) in enumerate(tables.items()):
        if number:
            echo("")
        print_table(list(rows.values()), title=f"{title}, {results[0]['device']}")
    echo("Ratios: median over rounds, 95 % bootstrap interval.  Training mode, forward and backward.")
    if any(result["noisy"] for result in results):
        echo("noisy: this machine's timings varied a lot; repeat when it is idle, or with --precision.")


def cells(result: dict[str, Any]) -> dict[str, str]:
    """What one result adds to the row of its candidate."""
    if result["metric"] == "step_time_ms":
        interval = f"{result['ratio']:.2f} [{result['ratio_low']:.2f}, {result['ratio_high']:.2f}]"
        return {
            "step ms (median)": f"{result['median']:.3f}" + (" noisy" if result["noisy"] else ""),
            "IQR": f"{result['iqr']:.3f}",
            "n": str(result["n"]),
            f"time / {result['reference']}": interval,
        }
    if result["metric"] == "solver/iterations_mean":
        return {"solver iterations": f"{result['median']:.2f}"}
    if result["metric"] == "saved_activation_bytes":
        return {
            "saved for backward": f"{result['median'] / 2**20:.2f} MiB",
            f"saved / {result['reference']}": "-" if result["ratio"] is None else f"{result['ratio']:.2f}",
        }
    return {}
