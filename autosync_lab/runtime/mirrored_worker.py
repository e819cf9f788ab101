"""A worker of the peer `tf.distribute.MultiWorkerMirroredStrategy`: it takes the orders of an ordinary worker, but
TensorFlow's own strategy synchronizes the gradients."""

import json
import os
import time
from typing import Any

import numpy as np

from autosync_lab.model.traced import TracedModel
from autosync_lab.runtime.channel import Channel
from autosync_lab.runtime.place import Place


class MirroredWorker:
    """One process under MultiWorkerMirroredStrategy; the server of a CPU-only node has nothing to do."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._place: Place | None = None
        self._strategy: Any = None
        self._model: TracedModel | None = None
        self._step_function: Any = None
        self._barrier: Any = None
        self._step = 0

    def obey(self, order: dict[str, Any], payload: bytes) -> tuple[dict[str, Any], bytes]:
        """Do what one order says."""
        if order["order"] == "start":
            self._start(order)
        elif order["order"] == "model":
            self._model = TracedModel.from_bytes(payload)
        elif order["order"] == "build":
            self._build(order["learning_rate"])
        elif order["order"] == "run":
            self._run(order)
        elif order["order"] not in ("end", "reset"):
            raise ValueError(f"no order {order['order']!r}")
        return {}, b""

    def _start(self, order: dict[str, Any]) -> None:
        import tensorflow as tf

        place = self._place = Place.from_json(order["place"])
        if place.rank is None:
            return
        workers = [a for a, r in zip(order["addresses"], place.rank_of_process, strict=True) if r is not None]
        task = {"type": "worker", "index": place.rank}
        os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": workers}, "task": task})
        tf.config.threading.set_intra_op_parallelism_threads(order["threads"])
        tf.config.threading.set_inter_op_parallelism_threads(max(2, order["threads"]))
        options = tf.distribute.experimental.CommunicationOptions(
            implementation=tf.distribute.experimental.CommunicationImplementation.RING
        )
        self._strategy = tf.distribute.MultiWorkerMirroredStrategy(communication_options=options)

    def _build(self, learning_rate: float) -> None:
        import tensorflow as tf

        self._step = 0
        if self._strategy is None:
            return
        traced, strategy = self._model, self._strategy
        assert traced is not None and self._place is not None
        with strategy.scope():
            mirrored = [tf.Variable(traced.values[v.name], name=f"variable{i}") for i, v in enumerate(traced.trainable)]
        local = [strategy.experimental_local_results(v)[0] for v in mirrored]
        state = [tf.Variable(traced.values[v.name], name=f"state{i}") for i, v in enumerate(traced.state)]
        compute = _compute_function(traced)
        handles = [v.handle for v in local + state]
        replicas = self._place.replicas

        def replica_step(*batch: tf.Tensor) -> tf.Tensor:
            loss, *pieces = compute(*batch, *handles)[: 1 + sum(2 if v.sparse else 1 for v in traced.trainable)]
            gradients: list[Any] = []
            for variable in traced.trainable:
                if variable.sparse:
                    values, ids = pieces.pop(0), pieces.pop(0)
                    gradients.append(tf.IndexedSlices(values, ids, tf.constant(variable.shape, ids.dtype)))
                else:
                    gradients.append(pieces.pop(0))
            context = tf.distribute.get_replica_context()
            summed = context.all_reduce(tf.distribute.ReduceOp.SUM, gradients)
            for variable, total in zip(local, summed, strict=True):
                rate = tf.cast(learning_rate / replicas, variable.dtype)
                if isinstance(total, tf.IndexedSlices):
                    variable.scatter_sub(tf.IndexedSlices(total.values * rate, total.indices))
                else:
                    variable.assign_sub(total * rate)
            return loss

        def replica_barrier() -> tf.Tensor:
            context = tf.distribute.get_replica_context()
            return context.all_reduce(tf.distribute.ReduceOp.SUM, tf.zeros([1]))

        self._step_function = tf.function(lambda *batch: strategy.run(replica_step, args=batch), autograph=False)
        self._barrier = tf.function(lambda: strategy.run(replica_barrier), autograph=False)

    def _run(self, order: dict[str, Any]) -> None:
        for _ in range(order["steps"] if self._strategy is not None else 0):
            assert self._model is not None and self._place is not None
            batch = self._model.batch(self._place.rank or 0, self._place.replicas, self._step)
            self._barrier().numpy()
            begin = time.perf_counter()
            loss = float(np.mean(self._step_function(*batch.values()).numpy()))
            seconds = time.perf_counter() - begin
            self._step += 1
            if order["report"]:
                self._channel.send({"step": self._step - 1, "seconds": seconds, "loss": loss})


def _compute_function(traced: TracedModel) -> Any:
    """The traced step as a function of its batch and of the handles of its variables."""
    import tensorflow as tf

    graph_def = tf.compat.v1.GraphDef.FromString(traced.graph_def)
    constants = {c.tensor: traced.values[c.tensor] for c in traced.constants}

    def imported() -> None:
        tf.graph_util.import_graph_def(
            graph_def, input_map={name: tf.constant(value) for name, value in constants.items()}, name=""
        )

    wrapped = tf.compat.v1.wrap_function(imported, [])
    variables = [*traced.trainable, *traced.state]
    feeds = [
        wrapped.graph.get_tensor_by_name(n)
        for n in [i.tensor for i in traced.inputs] + [v.placeholder for v in variables]
    ]
    names = [traced.loss]
    for variable in traced.trainable:
        names += [n for n in (variable.gradient, variable.values, variable.indices) if n is not None]
    fetches = [wrapped.graph.get_tensor_by_name(n) for n in names]
    fetches += [wrapped.graph.get_operation_by_name(n) for n in traced.update_ops]
    return wrapped.prune(feeds, fetches)
