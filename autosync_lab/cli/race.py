"""`autosync-lab race MODEL CLUSTER`."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from autosync_lab.cli.arguments import add_model_and_cluster, add_series_settings, new_file
from autosync_lab.cli.files import write_text
from autosync_lab.cli.measuring import (
    Job,
    TrialSettings,
    maybe_store,
    measure_in_turns,
    opened,
    require_runnable,
    strategy_job,
)
from autosync_lab.cli.output import print_json, say
from autosync_lab.cli.results import document, print_failures, print_results, results_of
from autosync_lab.errors import AutoSyncLabError, InvalidStrategy, MissingExtra

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from autosync_lab.cluster import ClusterSpec
    from autosync_lab.model import ModelSpec
    from autosync_lab.runtime import Progress, Trial
    from autosync_lab.strategy import Strategy

SUMMARY = "Measure every builder's strategy, Horovod with its autotuner and MultiWorkerMirroredStrategy, in turns."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    add_model_and_cluster(parser)
    add_series_settings(parser)
    parser.add_argument(
        "--figure",
        metavar="FILE",
        type=new_file(".html", ".png", ".svg"),
        help="draw the result as bars (.html; .png and .svg need kaleido and Chromium)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Do it; the exit code."""
    from autosync_lab.cluster import load_cluster
    from autosync_lab.model import load_model
    from autosync_lab.runtime.peers import PEERS

    if arguments.figure is not None:
        _require_plotting(arguments.figure)
    model, cluster = load_model(arguments.model), load_cluster(arguments.cluster)
    # Peers run SGD, so all do.
    settings = TrialSettings(arguments.steps, arguments.warmup)
    require_runnable(model)
    strategies = all_strategies(model, cluster)
    with maybe_store(arguments.store) as store, opened(cluster) as runner:
        jobs = [strategy_job(runner, model, name, strategy, settings) for name, strategy in strategies]
        jobs += [_peer_job(name, model, cluster, settings) for name in PEERS]
        series = measure_in_turns(jobs, arguments.repeat, settings.steps, store)

    results = results_of(series.trials, model, cluster)
    if arguments.json:
        print_json(document(series.trials, results, arguments.store))
    else:
        print_results(results, f"{model.name} on {cluster.name}")
        print_failures(series.trials)
    if arguments.figure is not None:
        _write_figure(series.trials, arguments.figure)
        say(f"Wrote {arguments.figure}")
    return series.exit_code


def all_strategies(model: "ModelSpec", cluster: "ClusterSpec") -> "list[tuple[str, Strategy]]":
    """Every builder's strategy, lossless ones first; a builder that has none for this model and cluster is named."""
    from autosync_lab.strategy import build_strategy, builder_names

    strategies = []
    for name in builder_names():
        try:
            strategies.append((name, build_strategy(name, model, cluster)))
        except InvalidStrategy as error:
            say(f"Left out {name}: {error}")
    return sorted(strategies, key=lambda named: not named[1].lossless)


def _peer_job(name: str, model: "ModelSpec", cluster: "ClusterSpec", settings: TrialSettings) -> Job:
    def run_peer(on_progress: "Callable[[Progress], None]") -> "Trial":
        from autosync_lab.runtime import peers

        return peers.measure_peer(
            name,
            model,
            cluster,
            steps=settings.steps,
            warmup=settings.warmup,
            learning_rate=settings.learning_rate,
            on_progress=on_progress,
        )

    return Job(name, run_peer)


def _require_plotting(path: Path) -> None:
    from importlib.util import find_spec

    for package in ("plotly", "autosync_widgets"):
        if find_spec(package) is None:
            raise MissingExtra(package, "lab")
    if path.suffix != ".html" and find_spec("kaleido") is None:
        raise AutoSyncLabError(f"{path.suffix} needs kaleido (pip install kaleido) and Chromium; .html needs neither")


def _write_figure(trials: "Sequence[Trial]", path: Path) -> None:
    from autosync_widgets.figures.step_time_bars import draw_step_time_bars, step_time_bars

    figure = draw_step_time_bars(step_time_bars(trials))
    if path.suffix == ".html":
        write_text(path, figure.to_html(include_plotlyjs=True))
        return
    try:
        figure.write_image(path)
    except (OSError, RuntimeError, ValueError) as error:
        raise AutoSyncLabError(f"{path}: {error}") from error
