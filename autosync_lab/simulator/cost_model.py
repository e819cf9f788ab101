"""`CostModel`: the step time of strategies from first principles."""

import math

import numpy as np
import numpy.typing as npt

from autosync_lab.cluster.spec import ClusterSpec
from autosync_lab.errors import InvalidInput
from autosync_lab.model.spec import ModelSpec
from autosync_lab.simulator.calibration import Calibration
from autosync_lab.simulator.step_bound import step_times
from autosync_lab.simulator.timeline import Timeline, play
from autosync_lab.space.arrays import ClusterArrays, ModelArrays
from autosync_lab.space.batch import StrategyBatch
from autosync_lab.strategy.spec import COMPRESSORS, Strategy
from autosync_lab.strategy.traffic import WIRE_BYTES

UNLIMITED_BYTES_PER_S = 1e12
"""Bandwidth where no link limits: no memory is faster."""


class CostModel:
    """Predicts step times of a model on a cluster; what it says is simulated, never measured.

    Parameters
    ----------
    model : ModelSpec
        Its `compute_s` is used if it has one, else its `flops` and the calibration's rate.
    cluster : ClusterSpec
    calibration : Calibration, optional
        Constants of the cluster; `Calibration.typical` if None.
    """

    def __init__(self, model: ModelSpec, cluster: ClusterSpec, calibration: Calibration | None = None) -> None:
        self.model = model
        self.cluster = cluster
        self.calibration = calibration or Calibration.typical(cluster)
        self.wire_nbytes = np.asarray([WIRE_BYTES.get(name, 0) for name in COMPRESSORS], float)
        """Bytes of one element on the wire by compressor; 0 where it travels as it is."""
        c = self.calibration
        more = {"fp16": c.fp16_s_per_byte, "bf16": c.bf16_s_per_byte}
        more["fp16-ef"] = c.fp16_s_per_byte + c.feedback_s_per_byte
        self.reduce_s_per_byte = c.reduce_s_per_byte + np.asarray([more.get(name, 0.0) for name in COMPRESSORS])
        """Seconds of a replica for each byte of an all-reduced gradient, by compressor."""
        self._variables = ModelArrays.of(model)
        self._nodes = ClusterArrays.of(cluster)

    @property
    def compute_s(self) -> float:
        """Seconds that a replica computes in one step while all others do."""
        alone = self.model.compute_s
        if alone is None:
            alone = (self.model.flops or 0.0) / self.calibration.flops_per_s
        return alone * self.calibration.compute_slowdown

    def step_time(self, batch: StrategyBatch) -> npt.NDArray[np.float64]:
        """Step time of every strategy of a batch, seconds, float64 [n].

        Raises
        ------
        InvalidInput
            If the batch is of another model or cluster.
        """
        if batch.model.hash != self.model.hash or batch.cluster.hash != self.cluster.hash:
            raise InvalidInput("this batch is of another model or cluster", received=batch.model.name)
        c, v, n = self.calibration, self._variables, self._nodes
        up, down = self.link_bytes_per_s
        return np.asarray(
            step_times(
                batch.push_credit,
                batch.axis,
                batch.start,
                batch.destination,
                batch.local_replication,
                batch.group,
                batch.compressor,
                batch.densified,
                v.dims,
                v.nbytes,
                v.touched_rows,
                v.row_nbytes,
                v.element_nbytes,
                v.sparse,
                v.ready * self.compute_s,
                self.compute_s,
                up,
                down,
                n.latency_s + c.latency_s,
                n.replicas,
                self.ring_bytes_per_s,
                self.wire_nbytes,
                c.window_nbytes,
                c.push_s,
                c.pull_s,
                c.apply_s,
                c.server_s_per_byte,
                c.rows_s,
                c.acknowledge_s,
                c.collective_s,
                c.exchange_s,
                c.tensor_s,
                self.reduce_s_per_byte,
                c.cycle_s,
                c.contention,
                c.step_s,
            )
        )

    def timeline(self, strategy: Strategy) -> Timeline:
        """One step of a strategy, event by event, in the trace format of the runtime.

        Raises
        ------
        InvalidStrategy
            If the strategy is not valid for the model on the cluster.
        """
        return play(self, strategy).timeline()

    @property
    def link_bytes_per_s(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """What each node's link carries, up and down, bytes per second, [N] each."""
        share = self.calibration.link_efficiency
        most = UNLIMITED_BYTES_PER_S
        return np.minimum(self._nodes.up, most) * share, np.minimum(self._nodes.down, most) * share

    @property
    def ring_bytes_per_s(self) -> float:
        """What the slowest link of a ring over the replicas carries, bytes per second; infinite inside one node."""
        up, down = self.link_bytes_per_s
        workers = [i for i, node in enumerate(self.cluster.nodes) if node.replicas]
        if len(workers) == 1:
            return math.inf
        return float(min(*up[workers], *down[workers], self.calibration.stream_bytes_per_s))
