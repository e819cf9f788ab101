"""`autosync-lab demo`: the main job in the terminal."""

import argparse
import math
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from autosync_lab.cli.arguments import add_store, whole
from autosync_lab.cli.measuring import TrialSettings, maybe_store, measure_in_turns, opened, strategy_job
from autosync_lab.cli.output import print_json, print_table, say, seconds, times
from autosync_lab.cli.results import Result, document, name_with_notes, print_failures, results_of, spread
from autosync_lab.errors import ClusterUnavailable

if TYPE_CHECKING:
    from autosync_lab.cluster import ClusterSpec
    from autosync_lab.runtime import Runner
    from autosync_lab.simulator import VirtualRunner

SUMMARY = "Measure seven strategies for a small model on an emulated cluster of four nodes; takes under three minutes."

MODEL = "vgg-mini"
CLUSTER = "emulated-4"
FALLBACK_CLUSTER = "local-2"
BUILDERS = ("ps", "ps-load-balanced", "partitioned-ps", "all-reduce", "horovod", "horovod-fp16", "parallax")
STEPS = 5

_BAR_WIDTH = 16
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    parser.add_argument("--steps", type=whole(1), default=STEPS, help="timed steps per strategy (%(default)s)")
    add_store(parser)


def run(arguments: argparse.Namespace) -> int:
    """Do it; the exit code."""
    from autosync_lab.model import load_model
    from autosync_lab.strategy import build_strategy

    model = load_model(MODEL)
    path = arguments.store or str(Path(tempfile.mkdtemp(prefix="autosync-lab-demo-")) / "trials.db")
    settings = TrialSettings(arguments.steps, warmup=1)
    with maybe_store(path) as store, _opened_or_fallback() as (cluster, runner):
        chosen = [(name, build_strategy(name, model, cluster)) for name in BUILDERS]
        jobs = [strategy_job(runner, model, name, strategy, settings) for name, strategy in chosen]
        series = measure_in_turns(jobs, 1, settings.steps, store)

    results = results_of(series.trials, model, cluster)
    sentence = conclusion(results)
    if arguments.json:
        print_json(document(series.trials, results, path) | {"conclusion": sentence})
    else:
        _print(results, f"{model.name} on {cluster.name}, {settings.steps} steps each")
        print_failures(series.trials)
        print(f"\n{sentence}")
    say(f"The trials are in {path}; list them with: autosync-lab trials {path}")
    return series.exit_code


@contextmanager
def _opened_or_fallback() -> "Iterator[tuple[ClusterSpec, Runner | VirtualRunner]]":
    from contextlib import ExitStack

    from autosync_lab.cluster import load_cluster

    with ExitStack() as stack:
        cluster = load_cluster(CLUSTER)
        try:
            runner = stack.enter_context(opened(cluster))
        except ClusterUnavailable as error:
            first_line = str(error).splitlines()[0]
            say(f"{CLUSTER} cannot be started here: {first_line}")
            say(f"Measuring on {FALLBACK_CLUSTER} instead, where no link is limited.")
            cluster = load_cluster(FALLBACK_CLUSTER)
            runner = stack.enter_context(opened(cluster))
        yield cluster, runner


def conclusion(results: Sequence[Result]) -> str:
    """What was measured, in words; strategies are compared with those that train the same."""
    by_label = {r.summary.label: r.summary.step_time_s for r in results if not math.isnan(r.summary.step_time_s)}
    lossless = [r for r in results if not r.summary.lossy and r.summary.label in by_label]
    if not lossless:
        return "No lossless strategy could be measured."
    best = min(lossless, key=lambda r: r.summary.step_time_s)
    took = best.summary.step_time_s
    text = f"Of the lossless strategies, {best.name} was fastest: {seconds(took)} per step"
    for rival in ("ps", "horovod"):
        if rival in by_label and rival != best.summary.label:
            text += f", {times(by_label[rival] / took)} as fast as {rival}"
    if not math.isnan(best.summary.over_bound):
        text += f", and {times(best.summary.over_bound)} the bandwidth bound of {seconds(best.summary.bound_s)}"
    text += "."
    for result in results:
        if result.summary.lossy and result.summary.label in by_label:
            text += (
                f" {result.name}, which rounds gradients and so changes training, took"
                f" {seconds(result.summary.step_time_s)}."
            )
    return text


def bar(value: float, largest: float) -> str:
    """A horizontal bar of unicode blocks, as long as `value` is of `largest`; empty if there is no value."""
    if not (value >= 0 and largest > 0):
        return ""
    whole_blocks, eighths = divmod(round(value / largest * _BAR_WIDTH * 8), 8)
    return "█" * whole_blocks + _EIGHTHS[eighths].strip()


def _print(results: Sequence[Result], title: str) -> None:
    measured = {r.summary.label: r.summary.step_time_s for r in results}
    largest = max((t for t in measured.values() if not math.isnan(t)), default=0.0)
    print_table(
        ("strategy", "", "step time", "25-75 %", "x bound", "over ps"),
        [
            (
                name_with_notes(r),
                bar(r.summary.step_time_s, largest),
                seconds(r.summary.step_time_s),
                spread(r.summary),
                times(r.summary.over_bound),
                times(measured.get("ps", math.nan) / r.summary.step_time_s),
            )
            for r in results
        ],
        title=title,
        left=2,
    )
