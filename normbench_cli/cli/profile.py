"""normbench profile: the cost of norms, as single layers and in whole training steps, compared with each other."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from normbench_cli import interrupts, store
from normbench_cli.cli._options import Common, Settings, common_options, config_options
from normbench_cli.cli._output import print_json
from normbench_cli.cli._profile_more import MoreOptions, more_options
from normbench_cli.cli._profile_options import WorkOptions, work_options
from normbench_cli.durations import parse_duration
from normbench_cli.errors import EXIT_INCOMPLETE, EXIT_NOTHING_MEASURED, EXIT_OK, NormbenchError, UsageError
from normbench_cli.experiments.profiling.shapes import SHAPES
from normbench_cli.registry.spec import split_list

DEFAULT_NORM = "popnorm"
PANELS = {
    "What to measure": ("norm", "act", "model", "data", "batch_size"),
    "Device and speed": (
        *("device", "amp", "tf32", "compile", "compile_mode", "channels_last", "cudnn_benchmark", "deterministic"),
    ),
}
DTYPE, CALL, PASS, PRECISION = "float32", "layer", "both", "5%"
WHAT, LAYERS, HOW_LONG = "What to measure", "Layers", "Duration"


@config_options(PANELS, several=("norm",), defaults={"norm": DEFAULT_NORM})
@work_options
@more_options
@common_options
def profile(
    settings: Settings,
    only: Annotated[
        str | None,
        typer.Option(
            "--only",
            metavar="layers|model|both",
            help="Time single layers, training steps of the model, or both.",
            show_default="both; layers with --shape, --preset or --shapes-of",
            rich_help_panel=WHAT,
        ),
    ] = None,
    shape: Annotated[
        list[str] | None,
        typer.Option(
            "--shape",
            metavar="NxCxHxW",
            help="Input shape of the layers; NxC for graph nodes (may be repeated).",
            show_default=", ".join("x".join(map(str, shape)) for shape in SHAPES),
            rich_help_panel=LAYERS,
        ),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            "--preset",
            metavar="NAME",
            help="All norm shapes of a network, with a total: resnet18-cifar, vgg16-cifar, resnet50-imagenet, gcn.",
            rich_help_panel=LAYERS,
        ),
    ] = None,
    model_shapes: Annotated[
        str | None,
        typer.Option(
            "--shapes-of",
            metavar="MODEL",
            help="All norm shapes of any model, on --data or on images of a size: resnet18@3x32x32.",
            rich_help_panel=LAYERS,
        ),
    ] = None,
    dtype: Annotated[
        str,
        typer.Option(
            "--dtype",
            metavar="TYPE,...",
            help="Data types: float32, float64, bfloat16, float16.",
            rich_help_panel=LAYERS,
        ),
    ] = DTYPE,
    memory_format: Annotated[
        str | None,
        typer.Option(
            "--memory-format",
            metavar="FORMAT,...",
            help="Memory formats: contiguous, channels_last.",
            show_default="contiguous, or as --channels-last",
            rich_help_panel=LAYERS,
        ),
    ] = None,
    call: Annotated[
        str,
        typer.Option(
            "--call",
            metavar="HOW,...",
            help="How layers are called: layer (as is, with its own compiled kernels), eager (nothing compiled), "
            "compiled (in torch.compile), reduce-overhead (with CUDA graphs).",
            rich_help_panel=LAYERS,
        ),
    ] = CALL,
    timed: Annotated[
        str,
        typer.Option(
            "--pass",
            metavar="PASS,...",
            help="Passes to time: both (forward and backward), forward, backward, eval.",
            rich_help_panel=LAYERS,
        ),
    ] = PASS,
    memory: Annotated[
        bool,
        typer.Option("--memory/--no-memory", help="Measure peak memory.", rich_help_panel=LAYERS),
    ] = True,
    rounds: Annotated[
        int,
        typer.Option(
            "--rounds",
            metavar="N",
            min=5,
            help="Minimum number of rounds; each candidate runs once per round.",
            rich_help_panel=HOW_LONG,
        ),
    ] = 20,
    precision: Annotated[
        str,
        typer.Option(
            "--precision",
            metavar="FRACTION",
            help="Add rounds until the interval of every ratio to batchnorm is this narrow.",
            rich_help_panel=HOW_LONG,
        ),
    ] = PRECISION,
    budget: Annotated[
        str,
        typer.Option(
            "--budget",
            metavar="TIME",
            help="Stop adding rounds after this time; the minimum number is always run.",
            rich_help_panel=HOW_LONG,
        ),
    ] = "45s",
    *,
    work: WorkOptions,
    more: MoreOptions,
    common: Common,
) -> int:
    """Measure the time and memory of norms relative to `none` and `batchnorm`.

    After a warm-up every candidate runs once per round, in random order.  Ratios are medians over the rounds, with a
    bootstrap 95 % interval.  The raw samples are recorded.

    Examples:
      normbench profile --norm popnorm,torch.nn:BatchNorm2d --preset resnet18-cifar
      normbench profile --norm popnorm --only model --model resnet18 --precision 2%
    """
    from normbench_cli.cli import _profile_followups, _profile_solver, _profile_work

    unused = {
        "--preset": preset,
        "--shapes-of": model_shapes,
        "--only": only,
        "--norm": settings.get("norm"),
        "--dtype": dtype != DTYPE,
        "--memory-format": memory_format,
        "--call": call != CALL,
        "--pass": timed != PASS,
        "--step": work.step != WorkOptions.step,
        "--start": work.start != WorkOptions.start,
        "--precision": precision != PRECISION,
        "--no-memory": not memory,
    }
    more.check(sweep=work.sweep, others=unused)
    if more.solver:
        asked = _profile_solver.Asked(more.phi, list(map(parse_shape, shape or [])), rounds, parse_duration(budget))
        return _profile_solver.profile_solver(settings, asked, work, common)
    plan = _profile_work.plan_work(
        work,
        [spec for text in settings.pop("norm", [DEFAULT_NORM]) for spec in split_list(text)],
        settings=settings,
        named=_profile_work.NamedShapes(list(map(parse_shape, shape or [])), preset, model_shapes),
        usual=SHAPES,
        only=only,
        db=common.db,
        rounds=rounds,
        precision=parse_fraction(precision),
        seconds=parse_duration(budget),
        dtypes=dtype.split(","),
        memory_formats=memory_format.split(",") if memory_format else (),
        calls=call.split(","),
        passes=timed.split(","),
        memory=memory,
    )
    with interrupts.raised(), store.Store.open(common.db) as opened:
        afterwards = _profile_followups.Afterwards(plan, opened, more.compare, more.trace)
        outcome = _profile_work.run_shown(plan, opened, quiet=common.quiet, json=common.json)
        lost = outcome.pop("lost")
        outcome |= afterwards.compare(outcome.get("runs", {}))
    if common.json:
        print_json(outcome)
    else:
        _profile_work.print_outcome(plan, outcome, parse_fraction(precision))
        afterwards.print()
    afterwards.write_trace(quiet=common.quiet)
    _profile_work.write_files(work, outcome, quiet=common.quiet)
    if lost:
        raise NormbenchError("; ".join(lost), "keep what was printed, or profile again")
    return exit_code(outcome["results"])


def parse_shape(text: str) -> tuple[int, ...]:
    pieces = text.lower().split("x")
    if not 2 <= len(pieces) <= 5 or not all(piece.isascii() and piece.isdigit() and int(piece) > 0 for piece in pieces):
        raise UsageError(f"--shape {text} is not a shape", "write batch x channels x height x width, like 128x64x32x32")
    return tuple(int(piece) for piece in pieces)


def parse_fraction(text: str) -> float:
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = 0
    if not 0 < value < 1:
        raise UsageError(f"--precision {text} is not a fraction below 1", "write 2% or 0.02")
    return value


def exit_code(results: list[dict[str, Any]]) -> int:
    """4 if no time was measured, 5 if something could not be measured, such as for lack of memory."""
    if not any(row["metric"] == "step_time_ms" and row["status"] == "ok" for row in results):
        return EXIT_NOTHING_MEASURED
    return EXIT_OK if all(row["status"] == "ok" for row in results) else EXIT_INCOMPLETE
