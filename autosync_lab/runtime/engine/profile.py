"""When each gradient of a replica is ready, measured from traced steps."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from autosync_lab.runtime.engine.step_graph import StepGraph


def profile_step(session: Any, built: StepGraph, feed: Callable[[], dict[Any, Any]], steps: int) -> dict[str, Any]:
    """Time steps of a graph without synchronization.

    Returns
    -------
    dict
        `compute_s`: median seconds of an untraced step. `ready_s`: for each gradient, median seconds from the step's
        first operation until it is made, in traced steps, scaled so that the last one matches `compute_s` (tracing
        slows a step).
    """
    import tensorflow as tf

    session.run(built.step, feed_dict=feed())
    seconds = []
    for _ in range(steps):
        begin = time.perf_counter()
        session.run(built.step, feed_dict=feed())
        seconds.append(time.perf_counter() - begin)
    compute_s = float(np.median(seconds))
    options = tf.compat.v1.RunOptions(trace_level=tf.compat.v1.RunOptions.FULL_TRACE)
    ready = []
    for _ in range(steps):
        metadata = tf.compat.v1.RunMetadata()
        session.run(built.step, feed_dict=feed(), options=options, run_metadata=metadata)
        ends: dict[str, int] = {}
        begin_us = None
        for device in metadata.step_stats.dev_stats:
            for node in device.node_stats:
                begin_us = node.all_start_micros if begin_us is None else min(begin_us, node.all_start_micros)
                name = node.node_name.split(":")[0]
                ends[name] = max(ends.get(name, 0), node.all_start_micros + node.all_end_rel_micros)
        last = max(ends.values())
        ready.append([(ends.get(g.op.name, last) - (begin_us or 0)) * 1e-6 for g in built.gradients])
    ready_s = np.median(np.asarray(ready), axis=0)
    scale = compute_s / ready_s.max() if ready_s.max() > 0 else 1.0
    return {"compute_s": compute_s, "ready_s": (ready_s * scale).tolist()}
