"""What a data set consists of: which strategies are measured, in which order."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.model.spec import ModelSpec
from autosync_lab.runtime.trial import Trial
from autosync_lab.simulator.calibrate import RANDOM as RANDOM
from autosync_lab.simulator.calibrate import RANDOM_PRUNED as RANDOM_PRUNED
from autosync_lab.space import DEFAULT_CONSTRAINTS, StrategySpace
from autosync_lab.strategy.builders import builder_names
from autosync_lab.strategy.spec import Strategy
from autosync_lab.study.searching import build_baselines

MODELS = ("vgg-mini", "resnet-mini", "ncf-small", "bert-tiny")
CLUSTERS = ("emulated-4", "emulated-hetero-4", "emulated-servers")

REPEATED = "repeated"
"""Label of a strategy that is measured again, to see how much step times spread."""

ROUND = 10
"""Trials of a pair before the next pair has its turn: a slow change of the machine reaches all pairs."""

STEPS = 4
WARMUP = 1


@dataclass(frozen=True)
class Planned:
    """One trial to come."""

    label: str
    strategy: Strategy


def plan(model: ModelSpec, cluster: ClusterSpec, count: int) -> list[list[Planned]]:
    """A pair's trials in rounds: all builders, then `count` random strategies, half of them from the pruned space.

    Each round of random strategies ends with one that was measured before: in turns the first builder, and the first
    random strategies of either kind. A longer plan begins with the shorter one's strategies.
    """
    space = StrategySpace(model, cluster, lossy=True)
    whole = space.sample(count - count // 2, seed=0)
    pruned = space.constrain(DEFAULT_CONSTRAINTS).sample(count // 2, seed=1)
    built = [Planned(name, strategy) for name, strategy in build_baselines(builder_names(), model, cluster)[0]]
    drawn: list[Planned] = []
    for i in range(len(whole)):
        drawn.append(Planned(RANDOM, whole[i]))
        if i < len(pruned):
            drawn.append(Planned(RANDOM_PRUNED, pruned[i]))
    again = [Planned(REPEATED, p.strategy) for p in [*built[:1], *drawn[:2]]]
    rounds = [built]
    for number, begin in enumerate(range(0, len(drawn), ROUND)):
        rounds.append([*drawn[begin : begin + ROUND], again[number % len(again)]])
    return [r for r in rounds if r]


def missing(rounds: Iterable[Sequence[Planned]], measured: Iterable[Trial]) -> list[list[Planned]]:
    """The planned trials that were not measured yet, in their rounds: each trial counts for one planned one."""
    left = Counter((t.strategy_id, t.label == REPEATED) for t in measured if t.status != "stopped")
    todo: list[list[Planned]] = []
    for planned in rounds:
        todo.append([])
        for item in planned:
            key = (item.strategy.id, item.label == REPEATED)
            if left[key]:
                left[key] -= 1
            else:
                todo[-1].append(item)
    return todo
