"""`autosync-lab simulate MODEL CLUSTER --strategy ...`."""

import argparse
import json

from autosync_lab.cli.arguments import add_model_and_cluster, add_store, new_file
from autosync_lab.cli.choice import choose_strategy
from autosync_lab.cli.files import write_text
from autosync_lab.cli.measuring import maybe_store
from autosync_lab.cli.output import print_json, say
from autosync_lab.cli.results import document, print_results, results_of
from autosync_lab.cli.simulating import add_calibration, read_calibration

SUMMARY = "Predict step times with the cost model, event by event; nothing is run."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    add_model_and_cluster(parser)
    parser.add_argument(
        "--strategy",
        metavar="NAME|FILE",
        action="append",
        help="a builder (see `autosync-lab strategies`) or a strategy file; repeat for several (default: all builders)",
    )
    add_calibration(parser)
    add_store(parser)
    parser.add_argument(
        "--trace",
        metavar="FILE",
        type=new_file(),
        help="write the simulated timelines as Chrome trace JSON (chrome://tracing, Perfetto)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Do it; the exit code."""
    from autosync_lab.cli.race import all_strategies
    from autosync_lab.cluster import load_cluster
    from autosync_lab.model import load_model
    from autosync_lab.simulator import VirtualRunner
    from autosync_lab.study.chrome_trace import chrome_trace

    model, cluster = load_model(arguments.model), load_cluster(arguments.cluster)
    calibration = read_calibration(arguments)
    if arguments.strategy:
        chosen = [choose_strategy(word, model, cluster) for word in dict.fromkeys(arguments.strategy)]
    else:
        chosen = all_strategies(model, cluster)
    trials = []
    with maybe_store(arguments.store) as store, VirtualRunner(cluster, calibration) as runner:
        for label, strategy in chosen:
            trial = runner.measure(model, strategy, steps=1, label=label, trace=arguments.trace is not None)
            if store is not None:
                store.add(trial)
            trials.append(trial)
    results = results_of(trials, model, cluster)
    if arguments.json:
        print_json(document(trials, results, arguments.store))
    else:
        print_results(results, f"{model.name} on {cluster.name}, simulated")
    if arguments.trace is not None:
        write_text(arguments.trace, json.dumps(chrome_trace(trials)))
        say(f"Wrote {arguments.trace}")
    return 0
