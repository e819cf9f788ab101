"""Finding a cluster's constants: a few short trials, and the constants that explain their times best."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import AutoSyncLabError, InvalidInput, MissingExtra
from autosync_lab.model.catalog import load_model
from autosync_lab.model.spec import ModelSpec
from autosync_lab.simulator.calibration import Calibration
from autosync_lab.simulator.cost_model import CostModel
from autosync_lab.simulator.timeline import play
from autosync_lab.space import DEFAULT_CONSTRAINTS, StrategySpace
from autosync_lab.space.batch import StrategyBatch
from autosync_lab.strategy.builders import build_strategy
from autosync_lab.strategy.builders.base import strategy_of
from autosync_lab.strategy.spec import COMPRESSORS, AllReduce, Strategy, VariableStrategy

if TYPE_CHECKING:
    from autosync_lab.runtime.runner import Runner
    from autosync_lab.runtime.trial import Trial
    from autosync_lab.simulator.virtual_runner import VirtualRunner

COMPRESSED = tuple(f"all-reduce-{name}" for name in COMPRESSORS if name != "none")
"""One all-reduce of all variables in each narrow format."""

RANDOM, RANDOM_PRUNED = "random", "random-pruned"
"""A strategy by chance, of the whole space and of the space that the default constraints leave."""

PROBE = (
    ("vgg-mini", ("all-reduce", *COMPRESSED, "partitioned-ps", "ps", RANDOM, RANDOM_PRUNED)),
    ("resnet-mini", ("all-reduce", "byteps", "horovod", RANDOM, RANDOM, RANDOM_PRUNED, RANDOM_PRUNED)),
    ("ncf-small", ("ps", "partitioned-ps", "all-reduce", RANDOM, RANDOM, RANDOM_PRUNED, RANDOM_PRUNED)),
    ("bert-tiny", ("partitioned-ps", "all-reduce", RANDOM, RANDOM, RANDOM_PRUNED, RANDOM_PRUNED)),
)
"""What is tried: models of few large, many small and sparse variables, with strategies that stress other constants.

Builders alone leave a model blind for what only their mixtures cost, such as servers and collectives that take the same
processes' time: without random strategies, predictions of those were a third too fast. So does a model with a
collective of its own for every variable: alone, each of them costs half of what it costs beside servers.
"""

SEED = 20201206
"""Of the random strategies; any will do, and few other programs draw the same."""

STEPS = 4
WARMUP = 1

FITTED = (
    "link_efficiency",
    "window_nbytes",
    "latency_s",
    "compute_slowdown",
    "push_s",
    "pull_s",
    "apply_s",
    "server_s_per_byte",
    "rows_s",
    "acknowledge_s",
    "collective_s",
    "exchange_s",
    "tensor_s",
    "reduce_s_per_byte",
    "fp16_s_per_byte",
    "bf16_s_per_byte",
    "feedback_s_per_byte",
    "cycle_s",
    "contention",
    "step_s",
)
"""Constants that a probe can tell apart; the others are taken as they are typical."""

BELIEF = 0.05
"""Weight of staying near what is typical: a factor of e away costs as much as an error of 5 percent in one trial."""

OUTLIER = 0.1
"""Relative errors beyond this count less than their square: a disturbed trial must not bend all constants."""

WIDEST = 8.0
"""Constants stay within this factor of the typical ones."""


@dataclass(frozen=True)
class ProbeTrial:
    """One trial of a probe: a model with its measured compute time, a strategy, and its step time in seconds."""

    model: ModelSpec
    strategy: Strategy
    step_time_s: float


def probe(
    runner: "Runner | VirtualRunner", on_trial: "Callable[[int, int, Trial], None] | None" = None
) -> tuple[ProbeTrial, ...]:
    """Measure the probe's trials on an open cluster: seconds on a fast one, two minutes on the emulated presets.

    Parameters
    ----------
    runner : Runner
    on_trial : callable, optional
        Called after each trial with its number, how many there are, and the trial.

    Raises
    ------
    AutoSyncLabError
        If fewer than half of the trials succeed.
    """
    found: list[ProbeTrial] = []
    total, number = sum(len(builders) for _, builders in PROBE), 0
    for name, builders in PROBE:
        model = load_model(name)
        profile = runner.profile(model)
        model = model.with_profile(profile.compute_s, profile.ready_s)
        for builder, strategy in zip(builders, _strategies(builders, model, runner.cluster), strict=True):
            trial = runner.measure(model, strategy, steps=STEPS, warmup=WARMUP, label=builder)
            number += 1
            if trial.status == "ok":
                found.append(ProbeTrial(model, strategy, trial.step_time_s))
            if on_trial is not None:
                on_trial(number, total, trial)
    if len(found) * 2 < total:
        raise AutoSyncLabError(f"of {total} trials of the probe only {len(found)} succeeded")
    return tuple(found)


def _strategies(builders: Sequence[str], model: ModelSpec, cluster: ClusterSpec) -> list[Strategy]:
    """The probe's strategies of one model, in order."""
    whole = StrategySpace(model, cluster, lossy=True)
    drawn = {
        RANDOM: iter(whole.sample(builders.count(RANDOM), SEED)),
        RANDOM_PRUNED: iter(whole.constrain(DEFAULT_CONSTRAINTS).sample(builders.count(RANDOM_PRUNED), SEED)),
    }
    found = []
    for name in builders:
        if name in drawn:
            found.append(next(drawn[name]))
        elif name in COMPRESSED:
            found.append(compressed(model, cluster, name.removeprefix("all-reduce-")))
        else:
            found.append(build_strategy(name, model, cluster))
    return found


def compressed(model: ModelSpec, cluster: ClusterSpec, compressor: str) -> Strategy:
    """All variables all-reduced in one group, in a narrow format."""
    return strategy_of(cluster, [VariableStrategy(v.name, (AllReduce(0, compressor),)) for v in model.variables])


def fit_calibration(
    trials: Sequence[ProbeTrial], cluster: ClusterSpec, start: Calibration | None = None
) -> tuple[Calibration, float]:
    """The constants with which the timeline explains the trials best.

    Parameters
    ----------
    trials : sequence of ProbeTrial
    cluster : ClusterSpec
    start : Calibration, optional
        Where to begin, and what to stay near; what is typical if None.

    Returns
    -------
    calibration : Calibration
    error : float
        Median of |predicted / measured - 1| over the trials.

    Raises
    ------
    InvalidInput
        If there is no trial.
    MissingExtra
        If SciPy is not installed.
    """
    try:
        from scipy.optimize import least_squares
    except ImportError:
        raise MissingExtra("scipy", "study") from None
    if not trials:
        raise InvalidInput("a calibration needs at least one trial")
    start = start or Calibration.typical(cluster)
    begin = np.log([max(getattr(start, name), 1e-12) for name in FITTED])
    batches = [StrategyBatch.encode([t.strategy], t.model, cluster) for t in trials]
    measured = np.asarray([t.step_time_s for t in trials])

    def at(x: npt.NDArray[np.float64]) -> Calibration:
        return replace(start, **{name: float(np.exp(v)) for name, v in zip(FITTED, x, strict=True)})

    def predicted(calibration: Calibration) -> npt.NDArray[np.float64]:
        costs = {id(t.model): CostModel(t.model, cluster, calibration) for t in trials}
        times = [play(costs[id(t.model)], b).step_time_s for t, b in zip(trials, batches, strict=True)]
        return np.asarray(times)

    def residuals(x: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        return np.concatenate([np.log(predicted(at(x)) / measured), BELIEF * (x - begin)])

    low, high = begin - np.log(WIDEST), begin + np.log(WIDEST)
    # No link carries more than its bandwidth.
    high[FITTED.index("link_efficiency")] = max(0.0, begin[FITTED.index("link_efficiency")]) + 1e-9
    fit = least_squares(
        residuals, begin, bounds=(low, high), loss="soft_l1", f_scale=OUTLIER, diff_step=0.02, max_nfev=60
    )
    calibration = at(fit.x)
    return calibration, float(np.median(np.abs(predicted(calibration) / measured - 1)))
