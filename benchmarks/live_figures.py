"""How long does one update of the live figures keep the kernel, and how many bytes does it send?

    python benchmarks/live_figures.py [--updates 20]

Everything that a panel does for one more trial is timed: the state, the data, the drawing, the difference, the tables.
Bytes are those of the messages as JSON. The times of the trials are made up.
"""

import argparse
import json
import math
import time
from dataclasses import replace
from typing import Any

import numpy as np

import autosync_lab as asl
from autosync_lab.runtime import Trial
from autosync_lab.simulator import VirtualRunner
from autosync_lab.study.history import StudyTrial
from autosync_widgets.panels.study_view import StudyView
from autosync_widgets.study_state import Plan, StudyState, advance

SIZES = (100, 1_000, 10_000)
STRATEGIES = 40


def trials(model: asl.ModelSpec, cluster: asl.ClusterSpec) -> list[Trial]:
    """Different strategies of all kinds, simulated."""
    batch = asl.StrategySpace(model, cluster).sample(STRATEGIES, seed=0)
    with VirtualRunner(cluster) as runner:
        return [runner.measure(model, batch[i], steps=5, label="autosync") for i in range(STRATEGIES)]


def records(some: list[Trial], count: int) -> list[StudyTrial]:
    """A study of `count` trials: 10 baselines, then proposals with predictions."""
    rng = np.random.default_rng(0)
    noise = rng.lognormal(0.0, 0.1, count)
    found = []
    for i in range(count):
        trial = some[i % len(some)]
        times = tuple(tuple(t * noise[i] for t in row) for row in trial.step_times_s)
        role = "baseline" if i < 10 else "proposal"
        label = f"baseline {i}" if i < 10 else "autosync"
        predicted = math.nan if i < 10 else trial.step_time_s
        found.append(StudyTrial(i + 1, role, 0, replace(trial, step_times_s=times, label=label), predicted))
    return found


class Wire:
    """Counts what a view's widgets send."""

    def __init__(self, view: StudyView) -> None:
        self.nbytes = 0
        for figure in (view.progress, view.predictions):
            figure.send = self._message
        for text in (view._status, view._found, view._fastest, view._latest, view._left_out, view._bar, view._notice):
            text.observe(lambda change: self._message(change["new"]), "value")

    def _message(self, content: Any, buffers: Any = None) -> None:
        self.nbytes += len(json.dumps(content, allow_nan=False))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=20)
    updates = parser.parse_args().updates
    model, cluster = asl.load_model("vgg-mini"), asl.load_cluster("emulated-hetero-4")
    some = trials(model, cluster)
    for size in SIZES:
        study = records(some, size + updates)
        plan = Plan(2 * size, tuple(f"baseline {i}" for i in range(10)), "autosync", "cost-model")
        begin = time.perf_counter()
        state = advance(StudyState("study", model.name, cluster.name, plan=plan), [], study[:size], "running")
        view = StudyView()
        view.show(state)
        first_s = time.perf_counter() - begin
        wire = Wire(view)
        seconds, nbytes = [], []
        for count in range(size + 1, size + updates + 1):
            wire.nbytes = 0
            begin = time.perf_counter()
            state = advance(state, [], study[:count], "running")
            view.show(state)
            seconds.append(time.perf_counter() - begin)
            nbytes.append(wire.nbytes)
        whole = len(json.dumps([view.progress.spec, view.predictions.spec]))
        print(
            f"{size:6} trials: update {1e3 * np.median(seconds):5.1f} ms (worst {1e3 * max(seconds):.1f}), "
            f"{np.median(nbytes) / 1e3:5.1f} kB (worst {max(nbytes) / 1e3:.1f}); "
            f"first drawing {first_s:.2f} s, {whole / 1e3:.0f} kB",
            flush=True,
        )


if __name__ == "__main__":
    main()
