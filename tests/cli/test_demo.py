from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from autosync_lab.cli.demo import BUILDERS, bar, conclusion
from autosync_lab.cli.results import Result
from autosync_lab.strategy.spec import AllReduce, Strategy, VariableStrategy
from autosync_lab.study import TrialStore
from autosync_lab.study.summary import summarize
from tests.cli.fake_runner import FakeCluster
from tests.study.trial_factory import make_trial

Run = Callable[..., tuple[int, str, str]]

FP16 = Strategy(variables=(VariableStrategy("dense/kernel", (AllReduce(compressor="fp16"),)),), replicas=2)


def results(bound_s: float = 0.5, **seconds: float) -> list[Result]:
    trials = [
        make_trial(label, label=label, step_times_s=((s,),), bound_s=bound_s)
        if label != "fp16"
        else make_trial(label, label=label, step_times_s=((s,),), bound_s=bound_s / 2, strategy=FP16)
        for label, s in seconds.items()
    ]
    return [Result(row.label, row, 0.1) for row in summarize(trials)]


def test_the_conclusion_compares_what_trains_the_same() -> None:
    text = conclusion(results(ps=2.0, horovod=0.75, ring=0.625, fp16=0.3))
    assert text == (
        "Of the lossless strategies, ring was fastest: 625 ms per step, 3.20x as fast as ps, 1.20x as fast as horovod,"
        " and 1.25x the bandwidth bound of 500 ms."
        " fp16, which rounds gradients and so changes training, took 300 ms."
    )


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (
            {"ps": 1.0, "horovod": 2.0},
            "ps was fastest: 1 s per step, 2.00x as fast as horovod, and 2.00x the",
        ),
        (
            {"horovod": 1.0, "ps": 2.0},
            "horovod was fastest: 1 s per step, 2.00x as fast as ps, and 2.00x the",
        ),
        ({"ring": 1.0}, "ring was fastest: 1 s per step, and 2.00x the bandwidth bound"),
        ({"fp16": 1.0}, "No lossless strategy could be measured."),
        ({}, "No lossless strategy could be measured."),
    ],
)
def test_the_conclusion_names_only_what_was_measured(seconds: dict[str, float], text: str) -> None:
    assert text in conclusion(results(**seconds))


def test_no_distance_from_a_bound_that_is_not_there() -> None:
    assert conclusion(results(bound_s=0.0, ps=1.0)) == "Of the lossless strategies, ps was fastest: 1 s per step."


@pytest.mark.parametrize(
    ("value", "largest", "text"),
    [
        (1.0, 1.0, "█" * 16),
        (0.5, 1.0, "█" * 8),
        (1 / 32, 1.0, "▌"),
        (0.0, 1.0, ""),
        (float("nan"), 1.0, ""),
        (1.0, 0.0, ""),
    ],
)
def test_bar(value: float, largest: float, text: str) -> None:
    assert bar(value, largest) == text


def test_the_demo_measures_and_concludes(fake: FakeCluster, run: Run, tmp_path: Path) -> None:
    fake.seconds = {"ps": 2.0, "all-reduce": 0.25, "horovod-fp16": 0.125}
    code, out, err = run("demo", "--store", tmp_path / "t.db")
    assert code == 0
    assert tuple(fake.order) == BUILDERS
    assert "all-reduce was fastest: 250 ms per step, 8.00x as fast as ps, 2.00x as fast as horovod" in out
    assert "█" in out
    assert f"The trials are in {tmp_path / 't.db'}" in err
    with TrialStore(tmp_path / "t.db") as store:
        assert len(store) == len(BUILDERS)


def test_without_namespaces_the_demo_says_so_and_runs_on_loopback(fake: FakeCluster, run: Run) -> None:
    fake.unavailable = {"emulated-4"}
    code, out, err = run("demo")
    assert code == 0
    assert fake.opened == fake.closed == ["local-2"]
    assert "emulated-4 cannot be started here: no namespaces here" in err
    assert "local-2 instead" in err
    assert "vgg-mini on local-2" in out


def test_a_failed_strategy_does_not_spoil_the_rest(fake: FakeCluster, run: Run) -> None:
    fake.scripts = {
        "ps": lambda runner, trial: replace(trial, status="failed", stage="build", step_times_s=(), error="no graph")
    }
    code, out, _ = run("demo")
    assert code == 1
    assert "ps failed (stage: build): no graph" in out
    assert "as fast as ps" not in out


def test_json(fake: FakeCluster, run_json: Callable[..., tuple[int, Any]], tmp_path: Path) -> None:
    code, document = run_json("demo", "--store", tmp_path / "t.db")
    assert code == 0
    assert [r["label"] for r in document["results"]] == list(BUILDERS)
    assert document["store"] == str(tmp_path / "t.db")
    assert "fastest" in document["conclusion"]
