"""`Trial`: the frozen record of one strategy measured on a cluster."""

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from autosync_lab.strategy.spec import Strategy

Status = Literal["ok", "failed", "stopped"]

STAGES = ("start", "model", "build", "warm-up", "steps", "collect")
"""The stages of a trial, in order; a failed trial names the one it failed in."""

OPTIMIZERS = ("sgd", "momentum", "adam", "adagrad")


@dataclass(frozen=True)
class Event:
    """One bar of a step's timeline: seconds since the step's start."""

    worker: str
    lane: str
    name: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Trial:
    """One strategy measured on a cluster, or the record of how that failed.

    Parameters
    ----------
    id : str
        Unique.
    created : str
        UTC, ISO 8601.
    label : str
        Builder name or other name of the strategy.
    model, model_hash, cluster, cluster_hash : str
    launcher : str
    strategy : Strategy or None
        None for a peer (Horovod's autotuner, MultiWorkerMirroredStrategy) that decides by itself.
    status : {"ok", "failed", "stopped"}
    stage : str
        The last of `STAGES` that was entered.
    step_times_s : tuple of tuple of float
        [timed steps][replicas] seconds.
    setup_s : float
        Seconds of the trial that were not steps: building the graph, sessions, initial values.
    total_s : float
        Seconds of the whole trial.
    bytes_sent, bytes_received : dict of str to float, or None
        Bytes per timed step on each node's interface; None where nodes share one interface.
    steps, warmup, seed, batch_size : int
    optimizer : str
    learning_rate : float
    bound_s : float
        Bandwidth bound of the same semantics, seconds.
    versions : dict of str to str
    simulated : bool
        True if a simulator produced the times. Such a record is never called measured.
    error, stderr_tail : str
    exit_code : int or None
    losses : tuple of float
        Mean loss over replicas, per timed step.
    events : tuple of Event
        Timeline of one traced step, if one was asked for.
    """

    id: str
    created: str
    label: str
    model: str
    model_hash: str
    cluster: str
    cluster_hash: str
    launcher: str
    strategy: Strategy | None
    status: Status
    stage: str
    step_times_s: tuple[tuple[float, ...], ...]
    setup_s: float
    total_s: float
    bytes_sent: dict[str, float] | None
    bytes_received: dict[str, float] | None
    steps: int
    warmup: int
    seed: int
    batch_size: int
    optimizer: str
    learning_rate: float
    bound_s: float
    versions: dict[str, str]
    simulated: bool = False
    error: str = ""
    stderr_tail: str = ""
    exit_code: int | None = None
    losses: tuple[float, ...] = ()
    events: tuple[Event, ...] = field(default=(), repr=False)

    @property
    def step_time_s(self) -> float:
        """Step time: max over workers, then median over timed steps, seconds; NaN if no step was timed."""
        if not self.step_times_s:
            return float("nan")
        return float(np.median([max(row) for row in self.step_times_s]))

    @property
    def step_time_quartiles_s(self) -> tuple[float, float]:
        """25th and 75th percentile over timed steps of the max over workers, seconds."""
        if not self.step_times_s:
            return float("nan"), float("nan")
        low, high = np.percentile([max(row) for row in self.step_times_s], [25, 75])
        return float(low), float(high)

    @property
    def strategy_id(self) -> str | None:
        """Content id of the strategy."""
        return self.strategy.id if self.strategy else None

    def to_json(self) -> dict[str, Any]:
        """Plain JSON document (strategy in its own versioned form)."""
        from dataclasses import asdict

        document = {k: v for k, v in self.__dict__.items() if k not in ("strategy", "events")}
        document["step_times_s"] = [list(row) for row in self.step_times_s]
        document["losses"] = list(self.losses)
        document["strategy"] = self.strategy.to_json() if self.strategy else None
        document["events"] = [asdict(e) for e in self.events]
        document["step_time_s"] = self.step_time_s if self.step_times_s else None
        return document
