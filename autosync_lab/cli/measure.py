"""`autosync-lab measure MODEL CLUSTER --strategy ...`."""

import argparse
import json

from autosync_lab.cli.arguments import add_model_and_cluster, add_series_settings, add_training_settings, new_file
from autosync_lab.cli.choice import choose_strategy
from autosync_lab.cli.files import write_text
from autosync_lab.cli.measuring import (
    TrialSettings,
    maybe_store,
    measure_in_turns,
    opened,
    require_runnable,
    strategy_job,
)
from autosync_lab.cli.output import print_json, say
from autosync_lab.cli.results import document, print_failures, print_results, results_of

SUMMARY = "Measure strategies on a cluster."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    add_model_and_cluster(parser)
    parser.add_argument(
        "--strategy",
        metavar="NAME|FILE",
        action="append",
        required=True,
        help="a builder (see `autosync-lab strategies`) or a strategy file; repeat for several",
    )
    add_series_settings(parser)
    add_training_settings(parser)
    parser.add_argument(
        "--trace",
        metavar="FILE",
        type=new_file(),
        help="trace one more step of each trial; write the timelines as Chrome trace JSON (chrome://tracing, Perfetto)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Do it; the exit code."""
    from autosync_lab.cluster import load_cluster
    from autosync_lab.model import load_model
    from autosync_lab.study.chrome_trace import chrome_trace

    model, cluster = load_model(arguments.model), load_cluster(arguments.cluster)
    settings = TrialSettings.of(arguments, trace=arguments.trace is not None)
    chosen = [choose_strategy(word, model, cluster) for word in dict.fromkeys(arguments.strategy)]
    require_runnable(model)
    with maybe_store(arguments.store) as store, opened(cluster) as runner:
        jobs = [strategy_job(runner, model, label, strategy, settings) for label, strategy in chosen]
        series = measure_in_turns(jobs, arguments.repeat, settings.steps, store)

    results = results_of(series.trials, model, cluster)
    if arguments.json:
        print_json(document(series.trials, results, arguments.store))
    else:
        print_results(results, f"{model.name} on {cluster.name}")
        print_failures(series.trials)
    if arguments.trace is not None:
        write_text(arguments.trace, json.dumps(chrome_trace(series.trials)))
        say(f"Wrote {arguments.trace}")
    return series.exit_code
