"""A process that runs or watches one study: `python -m tests.study.study_process MODE STORE [EVENTS]`."""

import os
import signal
import sys
import time
from typing import Any

from autosync_lab.runtime.trial import Trial
from autosync_lab.study import Study, StudyEvent
from tests.study.fake_measuring import BASELINES, CLUSTER, MODEL, FakeRunner

N_TRIALS = 22
SETTINGS: dict[str, Any] = {
    "batch_size": 4,
    "algorithm": "autosync",
    "simulator": "cost-model",
    "baselines": BASELINES,
    "confirm": True,
}


def run(store: str, events: int) -> None:
    """Run the study; this process is killed once that many events are stored."""
    heard = 0

    def count(event: StudyEvent) -> None:
        nonlocal heard
        heard += 1
        print(event.kind, flush=True)
        if heard == events:
            os.kill(os.getpid(), signal.SIGKILL)

    with Study(MODEL, CLUSTER, store) as study:
        study.run(N_TRIALS, on_event=count, runner=FakeRunner(), **SETTINGS)


def watch(store: str) -> None:
    """Print every event until the finals are over."""
    number = 0
    confirmed = False
    with Study.open(store) as study:
        while not (confirmed and study.state == "ended"):
            for event in study.events(since=number):
                number = event.number
                confirmed |= event.kind == "confirmed"
                print(f"{event.number}:{event.kind}", flush=True)
            assert len(study.to_frame()) <= len(study.trials)
            time.sleep(0.005)
        for event in study.events(since=number):
            print(f"{event.number}:{event.kind}", flush=True)


def wait(store: str) -> None:
    """Begin a trial that takes longer than any test."""

    def script(runner: FakeRunner, trial: Trial) -> Trial:
        print("measuring", flush=True)
        time.sleep(60)
        return trial

    with Study(MODEL, CLUSTER, store) as study:
        study.run(N_TRIALS, runner=FakeRunner(script), **SETTINGS)


if __name__ == "__main__":
    mode, store, *rest = sys.argv[1:]
    {"run": run, "watch": watch, "wait": wait}[mode](store, *map(int, rest))
