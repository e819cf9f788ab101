"""`VirtualRunner`: plays a cluster with the cost model, and runs nothing."""

import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType

import autosync_lab
from autosync_lab.cluster.bound import bandwidth_bound
from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import ClusterUnavailable
from autosync_lab.model.spec import ModelSpec
from autosync_lab.runtime.runner import Profile, Progress, check_settings
from autosync_lab.runtime.trial import Trial
from autosync_lab.simulator.calibration import Calibration
from autosync_lab.simulator.cost_model import CostModel
from autosync_lab.simulator.timeline import play
from autosync_lab.strategy.spec import Strategy
from autosync_lab.strategy.traffic import node_traffic
from autosync_lab.strategy.validate import validate_strategy


class VirtualRunner:
    """Takes the place of a `Runner`; every trial is simulated, and its record says so.

    Models need not be runnable: what their variables say is enough.

    Parameters
    ----------
    cluster : ClusterSpec
        Of any launcher.
    calibration : Calibration, optional
        Constants of the cluster; what is typical if None.
    """

    def __init__(self, cluster: ClusterSpec, calibration: Calibration | None = None) -> None:
        self.cluster = cluster
        self.calibration = calibration or Calibration.typical(cluster)
        self._closed = False
        self._cost: CostModel | None = None

    @property
    def versions(self) -> dict[str, str]:
        """Versions of what simulates."""
        return {"autosync-lab": autosync_lab.__version__}

    @property
    def worker_pids(self) -> dict[int, int]:
        """No process runs."""
        return {}

    def measure(
        self,
        model: ModelSpec,
        strategy: Strategy,
        *,
        steps: int = 10,
        warmup: int = 2,
        seed: int = 0,
        optimizer: str = "sgd",
        learning_rate: float = 0.01,
        label: str | None = None,
        trace: bool = False,
        timeout_s: float | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Trial:
        """Simulate a strategy's step with the event-driven timeline; arguments and errors as of `Runner.measure`.

        All steps and replicas take the same time. `setup_s` and `total_s` are what the simulation took.
        """
        begin = time.perf_counter()
        steps, warmup, seed = check_settings(steps, warmup, seed, optimizer, learning_rate, timeout_s)
        validate_strategy(strategy, model, self.cluster)
        if self._closed:
            raise ClusterUnavailable("this runner is closed", stage="start")
        if self._cost is None or self._cost.model is not model:
            self._cost = CostModel(model, self.cluster, self.calibration)
        played = play(self._cost, strategy)
        sent, received = node_traffic(model, self.cluster, strategy)
        names = [node.name for node in self.cluster.nodes]
        total = time.perf_counter() - begin
        if on_progress is not None:
            on_progress(Progress("steps", steps, steps, played.step_time_s))
        return Trial(
            id=uuid.uuid4().hex,
            created=datetime.now(UTC).isoformat(timespec="milliseconds"),
            label=label or strategy.id,
            model=model.name,
            model_hash=model.hash,
            cluster=self.cluster.name,
            cluster_hash=self.cluster.hash,
            launcher="virtual",
            strategy=strategy,
            status="ok",
            stage="collect",
            step_times_s=((played.step_time_s,) * self.cluster.replicas,) * steps,
            setup_s=total,
            total_s=total,
            bytes_sent=dict(zip(names, map(float, sent), strict=True)),
            bytes_received=dict(zip(names, map(float, received), strict=True)),
            steps=steps,
            warmup=warmup,
            seed=seed,
            batch_size=model.batch_size,
            optimizer=optimizer,
            learning_rate=learning_rate,
            bound_s=bandwidth_bound(model, self.cluster, lossless=strategy.lossless),
            versions=self.versions,
            simulated=True,
            events=played.timeline().events if trace else (),
        )

    def profile(self, model: ModelSpec, *, steps: int = 5) -> Profile:
        """The compute time that the cost model takes for one replica alone."""
        cost = CostModel(model, self.cluster, self.calibration)
        alone = cost.compute_s / self.calibration.compute_slowdown
        return Profile(alone, tuple(v.ready * alone for v in model.variables))

    def cancel(self) -> None:
        """Nothing runs long enough to be stopped."""

    def close(self) -> None:
        """Nothing has to be ended; no trial is simulated after this."""
        self._closed = True

    def __enter__(self) -> "VirtualRunner":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
