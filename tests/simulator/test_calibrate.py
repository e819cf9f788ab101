"""Fitting a calibration to a probe's trials: those of a cluster whose constants are known, since it is simulated."""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from autosync_lab.cluster import load_cluster
from autosync_lab.errors import AutoSyncLabError, InvalidInput
from autosync_lab.model import load_model
from autosync_lab.runtime.trial import Trial
from autosync_lab.simulator import Calibration, CostModel, VirtualRunner
from autosync_lab.simulator.calibrate import FITTED, PROBE, WIDEST, ProbeTrial, fit_calibration, probe
from autosync_lab.simulator.calibration import SHARED_MACHINE
from autosync_lab.space import StrategySpace
from autosync_lab.strategy import build_strategy

CLUSTER = load_cluster("emulated-4")

TRUE = replace(
    SHARED_MACHINE,
    link_efficiency=0.9,
    latency_s=4e-4,
    push_s=9e-4,
    pull_s=6e-4,
    apply_s=8e-4,
    server_s_per_byte=1.4e-9,
    collective_s=1.3e-2,
    tensor_s=1.8e-4,
    reduce_s_per_byte=2e-9,
    cycle_s=4e-3,
    step_s=1.6e-2,
)
"""A machine on which much costs almost twice of what is typical."""


@cache
def trials() -> tuple[ProbeTrial, ...]:
    """The probe's own trials, played."""
    return probe(VirtualRunner(CLUSTER, TRUE))


@cache
def fitted() -> tuple[Calibration, float]:
    return fit_calibration(trials(), CLUSTER)


def errors(calibration: Calibration) -> np.ndarray:
    """Relative errors on strategies and a model that the probe does not try; and on those of its models."""
    found = []
    for name in ("lm-small", "vgg-mini"):
        of = VirtualRunner(CLUSTER, TRUE).profile(load_model(name))
        model = load_model(name).with_profile(of.compute_s, of.ready_s)
        some = [build_strategy(n, model, CLUSTER) for n in ("byteps", "parallax", "partitioned-all-reduce")]
        some += list(StrategySpace(model, CLUSTER).sample(8, 5))
        guess, truth = CostModel(model, CLUSTER, calibration), CostModel(model, CLUSTER, TRUE)
        found += [guess.timeline(s).step_time_s / truth.timeline(s).step_time_s - 1 for s in some]
    return np.abs(found)


def test_the_probe_tries_all_its_strategies() -> None:
    seen: list[tuple[int, int, str]] = []
    found = probe(VirtualRunner(CLUSTER, TRUE), lambda number, total, trial: seen.append((number, total, trial.label)))
    labels = [builder for _, builders in PROBE for builder in builders]
    assert seen == [(i + 1, len(labels), label) for i, label in enumerate(labels)]
    assert [t.model.name for t in found] == [name for name, builders in PROBE for _ in builders]
    assert all(t.step_time_s > 0 and t.model.compute_s for t in found)


def test_the_fitted_constants_explain_the_trials() -> None:
    _, error = fitted()
    assert error < 0.02


def test_the_fitted_model_predicts_what_was_not_tried() -> None:
    before, after = errors(Calibration.typical(CLUSTER)), errors(fitted()[0])
    assert np.median(after) < 0.03
    assert after.max() < 0.25
    assert np.median(after) < np.median(before) / 4


def test_one_disturbed_trial_does_not_spoil_the_fit() -> None:
    disturbed = [replace(t, step_time_s=5 * t.step_time_s) if i == 3 else t for i, t in enumerate(trials())]
    calibration, error = fit_calibration(disturbed, CLUSTER)
    assert error < 0.06
    assert np.median(errors(calibration)) < 0.08


def test_constants_stay_near_what_is_typical() -> None:
    slow = [replace(t, step_time_s=1000 * t.step_time_s) for t in trials()[:3]]
    calibration, _ = fit_calibration(slow, CLUSTER)
    for name in FITTED:
        assert getattr(calibration, name) <= getattr(SHARED_MACHINE, name) * WIDEST * 1.001
    assert calibration.link_efficiency <= 1.0 + 1e-6
    assert calibration.stream_bytes_per_s == SHARED_MACHINE.stream_bytes_per_s


def test_the_same_trials_give_the_same_constants() -> None:
    assert fit_calibration(trials()[:4], CLUSTER) == fit_calibration(trials()[:4], CLUSTER)


def test_there_must_be_trials() -> None:
    with pytest.raises(InvalidInput, match="at least one trial"):
        fit_calibration([], CLUSTER)


@dataclass
class Failing(VirtualRunner):
    """Fails all trials but some."""

    right: int

    def __post_init__(self) -> None:
        super().__init__(CLUSTER)
        self.count = 0

    def measure(self, *arguments: Any, **settings: Any) -> Trial:
        self.count += 1
        trial = super().measure(*arguments, **settings)
        return trial if self.count <= self.right else replace(trial, status="failed", step_times_s=())


def test_failed_trials_are_left_out_while_half_succeed() -> None:
    total = sum(len(builders) for _, builders in PROBE)
    assert len(probe(Failing(total // 2 + 1))) == total // 2 + 1
    with pytest.raises(AutoSyncLabError, match=f"of {total} trials of the probe only 2 succeeded"):
        probe(Failing(2))
