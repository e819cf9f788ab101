"""All-reduce of a group of gradients in a compressed wire format."""

from dataclasses import dataclass

import horovod.tensorflow as hvd
import numpy as np
import tensorflow as tf

from autosync_lab.runtime.engine.constants import constant
from autosync_lab.runtime.engine.labels import OWN
from autosync_lab.runtime.engine.optimizer import Shard


@dataclass
class WireGroup:
    """Gradients that travel as one fused collective.

    Parameters
    ----------
    name : str
        Name of the collective: the same on every replica, and of no other collective.
    compressor : str
        One of `autosync_lab.strategy.spec.COMPRESSORS`.
    exact : bool
        True: exactly these gradients are fused. False: each is a collective of its own and Horovod fuses as it likes.
    """

    name: str
    compressor: str
    exact: bool

    def average(
        self, gradients: list[tf.Tensor], replicas: int, device: str
    ) -> tuple[list[tf.Tensor], list[tf.Operation], list[tuple[Shard, np.ndarray]]]:
        """Average gradients over all replicas.

        Returns
        -------
        averages : list of Tensor
        updates : list of Operation
            What the step must also run (error feedback).
        initial_values : list of (Shard, ndarray)
            What must be fed once.
        """
        if self.compressor == "none":
            return self._all_reduce(gradients, hvd.Average), [], []
        # Shares of the mean: their sum is as large as a gradient, however many replicas there are.
        means = [g * constant(1.0 / replicas, g.dtype, device) for g in gradients]
        if self.compressor == "bf16":
            return self._all_reduce_bfloat16(means, replicas), [], []
        updates: list[tf.Operation] = []
        initial_values: list[tuple[Shard, np.ndarray]] = []
        if self.compressor == "fp16-ef":
            errors = [
                Shard(
                    f"{self.name}{OWN}error{i}",
                    tuple(g.shape.as_list()),
                    g.dtype.name,
                    device,
                )
                for i, g in enumerate(gradients)
            ]
            initial_values = [(e, np.zeros(e.shape, e.dtype.as_numpy_dtype)) for e in errors]
            means = [m + e.read() for m, e in zip(means, errors, strict=True)]
        # Plain casts, as Horovod's own: what float16 cannot hold becomes infinite, for everyone to see.
        halves = [tf.cast(m, tf.float16) for m in means]
        if self.compressor == "fp16-ef":
            updates = [e.assign(m - tf.cast(h, m.dtype)) for e, m, h in zip(errors, means, halves, strict=True)]
        sums = self._all_reduce(halves, hvd.Sum)
        return [tf.cast(s, g.dtype) for s, g in zip(sums, gradients, strict=True)], updates, initial_values

    def _all_reduce(self, tensors: list[tf.Tensor], op: object) -> list[tf.Tensor]:
        if not self.exact:
            return [hvd.allreduce(t, op=op, name=f"{self.name}/{i}") for i, t in enumerate(tensors)]
        # One collective fuses tensors of one dtype only.
        by_dtype: dict[tf.DType, list[int]] = {}
        for i, tensor in enumerate(tensors):
            by_dtype.setdefault(tensor.dtype, []).append(i)
        reduced: list[tf.Tensor | None] = [None] * len(tensors)
        for dtype, members in by_dtype.items():
            results = hvd.grouped_allreduce([tensors[i] for i in members], op=op, name=f"{self.name}/{dtype.name}")
            for i, result in zip(members, results, strict=True):
                reduced[i] = result
        return [r for r in reduced if r is not None]

    def _all_reduce_bfloat16(self, tensors: list[tf.Tensor], replicas: int) -> list[tf.Tensor]:
        """Reduce-scatter and all-gather of bfloat16 bits, summed in float32.

        Horovod has no bfloat16, so its bits travel as int16. The bytes are those of a ring all-reduce: (n-1)/n of the
        group leave each replica in the all-to-all, and again in the all-gather.
        """
        sizes = [t.shape.num_elements() for t in tensors]
        flat = tf.concat([tf.reshape(tf.cast(t, tf.bfloat16), [-1]) for t in tensors], 0)
        padded = tf.pad(flat, [[0, -sum(sizes) % replicas]])
        parts = hvd.alltoall(tf.bitcast(padded, tf.int16), name=f"{self.name}/scatter")
        if isinstance(parts, tuple | list):
            parts = parts[0]
        own = tf.reduce_sum(
            tf.cast(tf.bitcast(tf.reshape(parts, [replicas, -1]), tf.bfloat16), tf.float32),
            0,
        )
        bits = tf.bitcast(tf.cast(own, tf.bfloat16), tf.int16)
        total = tf.bitcast(hvd.allgather(bits, name=f"{self.name}/gather"), tf.bfloat16)[: sum(sizes)]
        pieces = tf.split(total, sizes)
        return [tf.cast(tf.reshape(p, t.shape), t.dtype) for p, t in zip(pieces, tensors, strict=True)]
