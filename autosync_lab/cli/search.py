"""`autosync-lab search MODEL CLUSTER`."""

import argparse
import math
import time
from typing import TYPE_CHECKING

from autosync_lab.cli.arguments import DEFAULT_WARMUP, add_model_and_cluster, add_store, new_file, whole
from autosync_lab.cli.files import write_text
from autosync_lab.cli.interrupts import one_interrupt
from autosync_lab.cli.output import message_console, plural, print_json, print_table, say, seconds
from autosync_lab.cli.simulating import add_calibration, read_calibration
from autosync_lab.cli.space import add_space_settings, chosen_space

if TYPE_CHECKING:
    from autosync_lab.study import Study
    from autosync_lab.study.event import StudyEvent

SUMMARY = "Search the fastest strategy: baselines first, then proposals, then the best of both again, in turns."

DEFAULT_TRIALS = 50
DEFAULT_BATCH = 8
DEFAULT_STEPS = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare its arguments."""
    add_model_and_cluster(parser)
    parser.add_argument("--trials", type=whole(0), default=DEFAULT_TRIALS, help="proposals to measure (%(default)s)")
    parser.add_argument("--batch", type=whole(1), default=DEFAULT_BATCH, help="proposals per round (%(default)s)")
    parser.add_argument("--algorithm", default="autosync", help="autosync, genetic or random (%(default)s)")
    parser.add_argument(
        "--simulator",
        default="gp",
        help="gp, cost-model, linear, boosted, rnn, gat, ensemble, none, or a saved one's file (%(default)s)",
    )
    parser.add_argument("--steps", type=whole(1), default=DEFAULT_STEPS, help="timed steps per trial (%(default)s)")
    parser.add_argument(
        "--warmup", type=whole(0), default=DEFAULT_WARMUP, help="steps before them that are not timed (%(default)s)"
    )
    parser.add_argument("--seed", type=whole(0), default=0, help="same seed, same proposals (%(default)s)")
    parser.add_argument("--name", help="the study's name in the store (default: MODEL on CLUSTER)")
    parser.add_argument("--no-confirm", action="store_true", help="do not measure the best strategies again at the end")
    parser.add_argument("--output", metavar="FILE", type=new_file(".json"), help="write the best strategy to this file")
    add_space_settings(parser)
    add_calibration(parser)
    add_store(parser)


def run(arguments: argparse.Namespace) -> int:
    """Do it; the exit code."""
    from autosync_lab.cluster import load_cluster
    from autosync_lab.errors import InvalidInput
    from autosync_lab.model import load_model
    from autosync_lab.search import ALGORITHMS
    from autosync_lab.simulator import make_simulator
    from autosync_lab.study import Study

    if arguments.algorithm not in ALGORITHMS:
        raise InvalidInput("unknown search algorithm", received=arguments.algorithm, valid=ALGORITHMS)
    model, cluster = load_model(arguments.model), load_cluster(arguments.cluster)
    if cluster.launcher != "virtual" and model.tracer is None:
        model.traced  # noqa: B018  # raises, with the reason
    space = chosen_space(arguments, model, cluster)
    simulator = make_simulator(arguments.simulator, model, cluster, read_calibration(arguments)) or "none"
    study = Study(
        model,
        cluster,
        arguments.store,
        name=arguments.name,
        space=space,
        lossy=arguments.lossy,
        seed=arguments.seed,
        steps=arguments.steps,
        warmup=arguments.warmup,
    )
    progress = _Told(arguments.trials)
    with study, one_interrupt():
        try:
            study.run(
                arguments.trials,
                arguments.batch,
                arguments.algorithm,
                simulator,
                on_event=progress,
                confirm=not arguments.no_confirm,
            )
        except KeyboardInterrupt:
            say(_kept(study, arguments.store))
            raise
        best = study.best
        if best is not None and best.strategy is not None and arguments.output is not None:
            write_text(arguments.output, best.strategy.dumps())
            say(f"Wrote {arguments.output}")
        if arguments.json:
            print_json(_document(study, arguments.store))
        else:
            _print(study)
        return 0 if best is not None else 1


class _Told:
    """Tells on stderr what happens, with the time left."""

    def __init__(self, trials: int) -> None:
        self._trials = trials
        self._proposals = 0
        self._began: float | None = None
        self._before = 0
        self._best = math.inf

    def __call__(self, event: "StudyEvent") -> None:
        data = event.data
        if event.kind == "study-started":
            self._before = self._proposals = data["measured"]
            say(f"Searching {data['model']} on {data['cluster']} ...")
        elif event.kind == "baseline-left-out":
            say(f"Left out {data['label']}: {data['why']}")
        elif event.kind == "proposal-round" and self._began is None:
            self._began = time.monotonic()
        elif event.kind == "space-exhausted":
            say("Everything that the search proposes was measured.")
        elif event.kind == "failed":
            say(f"{data['label']} failed ({data['stage']}): {data['error']}")
        elif event.kind == "confirmed":
            say("Measured the best strategies again.")
        elif event.kind == "trial-ended" and data["status"] == "ok":
            self._trial(data)

    def _trial(self, data: dict[str, object]) -> None:
        time_s = float(str(data["step_time_s"]))
        role = str(data["role"])
        simulated = " (simulated)" if data["simulated"] else ""
        where = ""
        if role == "proposal":
            self._proposals += 1
            where = f" {self._proposals}/{self._trials}"
        best = ""
        if role in ("baseline", "proposal") and time_s < self._best:
            self._best, best = time_s, ", the best so far"
        label = f" {data['label']}" if role in ("baseline", "anchor") else ""
        message_console().print(
            f"{role}{where}{label}: {seconds(time_s)}{simulated}{best}{self._left(role)}", soft_wrap=True
        )

    def _left(self, role: str) -> str:
        done = self._proposals - self._before
        if role != "proposal" or self._began is None or done == 0:
            return ""
        left = (time.monotonic() - self._began) / done * (self._trials - self._proposals)
        return f", {left / 60:.0f} min left" if left >= 60 else f", {left:.0f} s left"


def _kept(study: "Study", store: str | None) -> str:
    count = plural(len(study.trials), "trial")
    if store is None:
        return f"Stopped after {count}; none is kept, as no --store was given."
    return f"Stopped; {count} kept in {store}. The same command goes on."


def _document(study: "Study", store: str | None) -> dict[str, object]:
    best, speedup = study.best, study.speedup
    return {
        "study": study.name,
        "store": store,
        "model": study.model.name,
        "cluster": study.cluster.name,
        "trials": len(study.trials),
        "simulated": any(t.simulated for t in study.trials),
        "baselines": [
            {"label": t.label, "strategy": t.strategy_id, "step_time_s": _number(t.step_time_s)}
            for t in study.baselines
        ],
        "best": None
        if best is None
        else {
            "label": best.label,
            "step_time_s": _number(best.step_time_s),
            "bound_s": best.bound_s,
            "strategy": None if best.strategy is None else best.strategy.to_json(),
        },
        "speedup": None if speedup is None else speedup.to_json(),
        "drift": [point.ratio for point in study.drift()],
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _print(study: "Study") -> None:
    best = study.best
    if best is None:
        print("No trial succeeded.")
        return
    simulated = " (simulated)" if best.simulated else ""
    rows = [(t.label, seconds(t.step_time_s)) for t in sorted(study.baselines, key=lambda t: t.step_time_s)]
    rows.append((f"best found: {best.label}", seconds(best.step_time_s)))
    if best.bound_s > 0:
        rows.append(("bandwidth bound", seconds(best.bound_s)))
    print_table(("strategy", "step time"), rows, title=f"{study.name}{simulated}")
    speedup = study.speedup
    if speedup is not None:
        verdict = "" if speedup.ratio >= 1.0 else "No proposal was faster than the best baseline. The fastest one: "
        print(
            f"{verdict}{speedup.ratio:.2f}x the best baseline ({speedup.baseline_label}), 95 % interval "
            f"{speedup.low:.2f} to {speedup.high:.2f}, over {speedup.samples} trials each{simulated}."
        )
