"""A worker: one process of a running cluster, which builds and runs the graphs that it is told to.

It answers every order on its channel with `{"done": order}` and what was asked for, or with `{"error": ...}`. Orders:
start, model, build, run, train, save, trace, profile, fetch, end, reset.
"""

import gc
import io
import os
import resource
import signal
import sys
import time
import traceback
from typing import Any, Protocol

import numpy as np

from autosync_lab.model.traced import TracedModel
from autosync_lab.runtime.channel import Channel, ChannelClosed
from autosync_lab.runtime.engine.checkpoint import Snapshot, pack_parts
from autosync_lab.runtime.feed_queue import FeedQueue
from autosync_lab.runtime.place import JOB, Place
from autosync_lab.strategy.spec import Strategy

OUT_OF_MEMORY_SCORE = 900
"""The kernel's own choice (0..1000) of what to end when memory runs out: a worker long before the notebook."""


class Obedient(Protocol):
    """What answers orders."""

    def obey(self, order: dict[str, Any], payload: bytes) -> tuple[dict[str, Any], bytes]:
        """Do what one order says; returns the answer and its bytes."""


def serve_worker(channel: Channel, config: dict[str, Any]) -> int:
    """Be a worker of strategies; see `serve`."""
    return serve(channel, config, Worker(channel))


def serve(channel: Channel, config: dict[str, Any], worker: Obedient) -> int:
    """Answer orders until the client's end of the channel closes.

    `config` has `memory_bytes` (or null): how much this process may allocate.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with open("/proc/self/oom_score_adj", "w") as score:
        score.write(str(OUT_OF_MEMORY_SCORE))
    if config.get("memory_bytes"):
        resource.setrlimit(resource.RLIMIT_DATA, (config["memory_bytes"], config["memory_bytes"]))
    while True:
        try:
            order, payload = channel.receive()
        except ChannelClosed:
            return 0
        try:
            answer, blob = worker.obey(order, payload)
            channel.send({"done": order["order"]} | answer, blob)
        except ChannelClosed:
            return 0
        except MemoryError:
            # There may be no memory to go on with; what is printed is read from the log.
            print("out of memory", file=sys.stderr, flush=True)
            return 137
        except Exception as error:
            traceback.print_exc()
            sys.stderr.flush()
            channel.send(
                {
                    "error": f"{type(error).__name__}: {str(error)[:4000]}",
                    "order": order.get("order"),
                }
            )


class Worker:
    """What one process keeps between orders: its server, models, and the graph and session of the present trial."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._models: dict[str, TracedModel] = {}
        self._place: Place | None = None
        self._server: Any = None
        self._session: Any = None
        self._graph: Any = None
        self._traced: TracedModel | None = None
        self._step = 0
        self._saved: dict[Any, Any] | None = None

    def obey(self, order: dict[str, Any], payload: bytes) -> tuple[dict[str, Any], bytes]:
        """Do what one order says; returns the answer and its bytes."""
        method = getattr(self, f"_do_{order['order']}", None)
        if method is None:
            raise ValueError(f"no order {order['order']!r}")
        answer = method(order, payload)
        if isinstance(answer, bytes):
            return {}, answer
        return answer or {}, b""

    def _do_start(self, order: dict[str, Any], _: bytes) -> None:
        import tensorflow as tf

        place = Place.from_json(order["place"])
        self._place = place
        tf.compat.v1.disable_eager_execution()
        cluster = tf.train.ClusterSpec({JOB: order["addresses"]})
        self._server = tf.distribute.Server(
            cluster,
            job_name=JOB,
            task_index=place.index,
            config=_session_config(order["threads"]),
        )
        if place.rank is not None:
            import horovod.tensorflow as hvd

            os.environ.update(order["horovod"])
            hvd.init()

    def _do_model(self, order: dict[str, Any], payload: bytes) -> None:
        # One model is kept: a study measures one at a time, and a true-size model takes half a gigabyte.
        self._models = {order["hash"]: TracedModel.from_bytes(payload)}

    def _do_build(self, order: dict[str, Any], payload: bytes) -> dict[str, Any]:
        from autosync_lab.runtime.engine.step_graph import Training, build_step_graph

        assert self._place is not None
        begin = time.perf_counter()
        self._traced = self._models[order["model"]]
        strategy = Strategy.from_json(order["strategy"])
        self._graph = build_step_graph(
            self._traced,
            strategy,
            self._place,
            Training(order["optimizer"], order["learning_rate"], order["seed"]),
            order["run"],
        )
        self._step = order["first_step"]
        self._open_session(Snapshot.from_bytes(payload) if payload else Snapshot())
        return {"seconds": time.perf_counter() - begin}

    def _do_run(self, order: dict[str, Any], _: bytes) -> None:
        for _step in range(order["steps"]):
            self._timed_step(self._example(), order["report"])

    def _do_train(self, order: dict[str, Any], _: bytes) -> None:
        for arrays in FeedQueue(self._channel):
            # The server of a CPU-only node takes part in the step without a batch.
            names = [i.tensor for i in self._traced.inputs] if arrays and self._traced is not None else []
            feed = {self._graph.inputs[n]: array for n, array in zip(names, arrays, strict=True)}
            self._timed_step(feed, report=True)

    def _do_save(self, order: dict[str, Any], _: bytes) -> bytes:
        if self._saved is None:
            # Made once: operations stay in a graph for as long as it lives.
            with self._graph.graph.as_default():
                self._saved = {k.part: k.shard.read() for k in self._graph.initial if k.saved}
        values = self._session.run(self._saved)
        return pack_parts((part, np.asarray(value)) for part, value in values.items())

    def _do_trace(self, order: dict[str, Any], _: bytes) -> dict[str, Any]:
        import tensorflow as tf

        from autosync_lab.runtime.engine.step_trace import step_events

        assert self._place is not None
        if self._graph.barrier is not None:
            self._session.run(self._graph.barrier)
        metadata = tf.compat.v1.RunMetadata()
        options = tf.compat.v1.RunOptions(trace_level=tf.compat.v1.RunOptions.FULL_TRACE)
        self._run_step(self._example(), options=options, run_metadata=metadata)
        return {"events": step_events(metadata.step_stats, self._place)}

    def _do_profile(self, order: dict[str, Any], _: bytes) -> dict[str, Any]:
        from autosync_lab.runtime.engine.profile import profile_step
        from autosync_lab.runtime.engine.step_graph import build_local_graph

        assert self._place is not None
        self._traced = self._models[order["model"]]
        self._graph = build_local_graph(self._traced, self._place, order["run"])
        self._step = 0
        self._open_session(Snapshot())
        return profile_step(self._session, self._graph, self._example, order["steps"])

    def _do_fetch(self, order: dict[str, Any], _: bytes) -> bytes:
        buffer = io.BytesIO()
        with self._graph.graph.as_default():
            tensors = {name: read() for name, read in self._graph.parameters.items()}
        values = self._session.run(tensors)
        arrays = {f"{i}": _storable(v) for i, v in enumerate(values.values())}
        np.savez(buffer, **arrays)
        return buffer.getvalue()

    def _do_end(self, order: dict[str, Any], _: bytes) -> None:
        if self._session is not None:
            self._session.close()
        self._session = self._graph = self._traced = self._saved = None
        # A graph and its operations refer to each other.
        gc.collect()

    def _do_reset(self, order: dict[str, Any], _: bytes) -> None:
        import tensorflow as tf

        tf.compat.v1.Session.reset(self._server.target, containers=[order["run"]])

    def _open_session(self, snapshot: Snapshot) -> None:
        import tensorflow as tf

        built = self._graph
        with built.graph.as_default():
            feeds, assigns = {}, list(built.initializers)
            for kept in built.initial:
                shard, known = kept.shard, snapshot.part(kept.part)
                value = kept.first if known is None else known
                with tf.device(shard.device):
                    if np.ndim(value) == 0 and shard.shape:
                        first = tf.fill(shard.shape, tf.cast(value, shard.dtype))
                    else:
                        first = tf.compat.v1.placeholder(shard.dtype, shard.shape)
                        feeds[first] = value
                assigns.append(shard.assign(first))
            initialize = tf.group(*assigns)
            # One fetch for the whole step.
            built.step = [tf.group(*built.step)] if built.step else [tf.no_op()]
        self._session = tf.compat.v1.Session(self._server.target, graph=built.graph, config=_session_config(None))
        self._session.run(initialize, feed_dict=feeds)

    def _example(self) -> dict[Any, Any]:
        """The feed of a step that is measured: one of the model's own batches."""
        assert self._place is not None
        assert self._traced is not None
        if self._place.rank is None:
            return {}
        batch = self._traced.batch(self._place.rank, self._place.replicas, self._step)
        return {self._graph.inputs[name]: value for name, value in batch.items()}

    def _timed_step(self, feed: dict[Any, Any], report: bool) -> None:
        if self._graph.barrier is not None:
            self._session.run(self._graph.barrier)
        begin = time.perf_counter()
        loss = self._run_step(feed)
        seconds = time.perf_counter() - begin
        if report:
            self._channel.send({"step": self._step - 1, "seconds": seconds, "loss": loss})

    def _run_step(self, feed: dict[Any, Any], **trace: Any) -> float | None:
        fetches = [self._graph.step, self._graph.loss] if self._graph.loss is not None else [self._graph.step]
        values = self._session.run(fetches, feed_dict=feed, **trace)
        self._step += 1
        return float(values[1]) if len(values) > 1 else None


def _session_config(threads: int | None) -> Any:
    import tensorflow as tf

    config = tf.compat.v1.ConfigProto()
    if threads is not None:
        config.intra_op_parallelism_threads = threads
        config.inter_op_parallelism_threads = max(2, threads)
    # The step is wired by hand: optimizing it again costs time at every change of strategy and gains nothing.
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def _storable(value: Any) -> Any:
    return value.astype(np.float32) if value.dtype.name == "bfloat16" else value
