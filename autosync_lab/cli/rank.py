"""`autosync-lab rank STORE`."""

import argparse
import math
from typing import TYPE_CHECKING

from autosync_lab.cli.arguments import new_file, whole
from autosync_lab.cli.interrupts import one_interrupt
from autosync_lab.cli.output import plural, print_json, print_table, say
from autosync_lab.cli.progress import PassingBar

if TYPE_CHECKING:
    from autosync_lab.simulator.ranking import Judge, RankingScore
    from autosync_lab.study.stored_pairs import StoredPairs

SUMMARY = "Train simulators on stored trials, and say how well they rank trials that they did not learn from."

DEFAULT_SIMULATORS = ("cost-model", "corrected", "linear", "gp", "boosted")
"""What needs no TensorFlow, and is done in seconds."""

DEFAULT_TRAIN = 100
DEFAULT_SEEDS = 5
LEAST_TRIALS = 4
"""Pairs with fewer strategies say nothing about order."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    parser.add_argument("store", metavar="STORE", help="a store (SQLite), a Parquet file, or a data set's folder")
    parser.add_argument(
        "--simulator",
        action="append",
        metavar="NAME",
        help="cost-model (alone), corrected (as a search corrects it), linear, gp, boosted, rnn, gat or ensemble; may"
        f" be given several times (default: {', '.join(DEFAULT_SIMULATORS)})",
    )
    parser.add_argument("--features", default="both", help="raw, predefined or both (%(default)s)")
    parser.add_argument(
        "--no-prior", action="store_true", help="learn from features alone, not what the cost model misses"
    )
    parser.add_argument(
        "--split",
        default="strategy",
        help="what it did not learn from: other strategies of the same pair only (strategy), or also all of other pairs"
        " (pair), of other models (model), on other clusters (cluster) (%(default)s)",
    )
    parser.add_argument(
        "--train", type=whole(0), default=DEFAULT_TRAIN, help="trials of the pair to learn from, at most (%(default)s)"
    )
    parser.add_argument("--seeds", type=whole(1), default=DEFAULT_SEEDS, help="splits of each pair (%(default)s)")
    parser.add_argument(
        "--calibrations", metavar="FOLDER", help="CLUSTER.json of `autosync-lab calibrate` (default: typical constants)"
    )
    parser.add_argument(
        "--save",
        metavar="FILE",
        type=new_file(".npz"),
        help="let one --simulator learn from all trials, and write it to this file, for `search --simulator FILE`",
    )


def run(arguments: argparse.Namespace) -> int:
    """Do it; the exit code."""
    from autosync_lab.errors import InvalidInput
    from autosync_lab.simulator.learned import Recipe, learn, save_knowledge
    from autosync_lab.simulator.ranking import SPLITS, evaluate, overall
    from autosync_lab.study.stored_pairs import read_pairs

    judges = [_judge(name, arguments) for name in dict.fromkeys(arguments.simulator or DEFAULT_SIMULATORS)]
    if arguments.split not in SPLITS:
        raise InvalidInput("unknown split", received=arguments.split, valid=SPLITS)
    if arguments.save is not None and not (arguments.simulator and isinstance(judges[0], Recipe) and len(judges) == 1):
        raise InvalidInput("--save needs one --simulator that learns")
    stored = read_pairs(arguments.store, arguments.calibrations)
    for name in stored.unknown:
        say(f"Left out {name}: neither the store nor the catalog describes it.")
    pairs = [pair for pair in stored.pairs if len(pair) >= LEAST_TRIALS]
    if not pairs:
        raise InvalidInput(
            f"ranking needs {LEAST_TRIALS} strategies that were measured on one model and cluster",
            where=str(arguments.store),
        )
    say(f"Read {sum(map(len, pairs))} strategies of {plural(len(pairs), 'pair')}.")
    scores: dict[str, list[RankingScore]] = {}
    with one_interrupt():
        for judge in judges:
            with _Bar(_name(judge)) as bar:
                scores[_name(judge)] = evaluate(
                    pairs,
                    judge,
                    split=arguments.split,
                    train=arguments.train,
                    seeds=arguments.seeds,
                    baselines_s=stored.baselines_s,
                    on_fold=bar,
                )
    if not any(scores.values()):
        raise InvalidInput("no two strategies are left to rank", where="--train", received=arguments.train)
    if arguments.save is not None and isinstance(judges[0], Recipe):
        save_knowledge(learn(pairs, judges[0]), arguments.save)
        say(f"Wrote {arguments.save}")
    if arguments.json:
        print_json(
            {
                "store": arguments.store,
                "split": arguments.split,
                "noise": stored.noise,
                "ceilings": _ceilings(stored),
                "left_out": stored.unknown,
                "simulators": {
                    name: {"overall": vars(overall(found)), "pairs": [vars(s) for s in found]}
                    for name, found in scores.items()
                },
            }
        )
    else:
        _print(scores, stored)
    return 0


def _judge(name: str, arguments: argparse.Namespace) -> "Judge":
    from autosync_lab.errors import InvalidInput
    from autosync_lab.simulator.learned import RANKERS, Recipe

    if name == "cost-model":
        return "cost-model"
    if name == "corrected":
        return "corrected"
    if name not in RANKERS:
        raise InvalidInput("unknown simulator", received=name, valid=("cost-model", "corrected", *RANKERS))
    return Recipe(name, arguments.features, not arguments.no_prior)


def _name(judge: "Judge") -> str:
    return judge if isinstance(judge, str) else judge.ranker


def _ceilings(stored: "StoredPairs") -> dict[str, float]:
    """What true times would reach on each pair's measured ones, by the noise of repeated strategies."""
    from autosync_lab.simulator.ranking import noise_ceiling

    return {pair.name: noise_ceiling(pair.step_time_s, stored.noise) for pair in stored.pairs}


class _Bar(PassingBar):
    """A bar of the splits of one simulator, on a terminal; a line when it is done, anywhere."""

    def __init__(self, name: str) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

        self._name = name
        super().__init__(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("splits, left"),
            TimeRemainingColumn(),
        )
        self._task = self._bar.add_task(name, total=None)

    def __call__(self, done: int, total: int) -> None:
        self._bar.update(self._task, completed=done, total=total)
        if done == total:
            say(f"{self._name}: ranked {plural(total, 'split')}")


def _print(scores: "dict[str, list[RankingScore]]", stored: "StoredPairs") -> None:
    from autosync_lab.simulator.ranking import overall

    simulated = " (of simulated times)" if any(s.simulated for found in scores.values() for s in found) else ""
    rows = []
    for name, found in scores.items():
        all_of = overall(found)
        interval = f"{all_of.low:.3f} to {all_of.high:.3f}"
        rates = (_ratio(all_of.hit_rate), f"{all_of.regret:.1%}", f"{all_of.error:.1%}")
        rows.append((name, f"{all_of.accuracy:.3f}", interval, f"{all_of.spearman:.3f}", *rates))
    columns = ("simulator", "ranking accuracy", "95 % interval", "Spearman", "hit rate", "regret", "error")
    print_table(columns, rows, title=f"Held-out trials, mean over pairs{simulated}")
    first = next(iter(scores.values()))
    ceilings = _ceilings(stored)
    by_pair = []
    for i, score in enumerate(first):
        counts = (f"{score.trained} + {score.others}", str(score.tested))
        by_pair.append(
            (
                score.pair,
                *counts,
                *(f"{found[i].accuracy:.3f}" for found in scores.values()),
                _ratio(ceilings[score.pair]),
            )
        )
    print_table(
        ("ranking accuracy", "learned from own + others", "held out", *scores, "noise ceiling"),
        by_pair,
        title=f"Pair by pair{simulated}",
    )


def _ratio(value: float) -> str:
    return f"{value:.3f}" if math.isfinite(value) else "-"
