"""Trials to store, table and draw: one plain trial, and every trial that can be (a Hypothesis strategy)."""

from typing import Any

from hypothesis import strategies as st

from autosync_lab.runtime.trial import Event, Trial
from autosync_lab.strategy.spec import AllReduce, ParameterServer, Strategy, VariableStrategy

ALL_REDUCE = Strategy(variables=(VariableStrategy("dense/kernel", (AllReduce(group=0),)),), replicas=2)
ON_ONE_SERVER = Strategy(variables=(VariableStrategy("dense/kernel", (ParameterServer("n0"),)),), replicas=2)


def make_trial(name: str = "t1", **changes: Any) -> Trial:
    """A successful trial of two workers and three timed steps; step time 0.3 s, bound 0.2 s."""
    fields: dict[str, Any] = {
        "created": "2026-01-31T12:00:00.250000+00:00",
        "label": "all-reduce",
        "model": "vgg-mini",
        "model_hash": "m" * 16,
        "cluster": "local-2",
        "cluster_hash": "c" * 16,
        "launcher": "local",
        "strategy": ALL_REDUCE,
        "status": "ok",
        "stage": "collect",
        "step_times_s": ((0.3, 0.2), (0.1, 0.25), (0.4, 0.5)),
        "setup_s": 0.5,
        "total_s": 1.9,
        "bytes_sent": {"n0": 100.0, "n1": 300.0},
        "bytes_received": {"n0": 300.0, "n1": 100.0},
        "steps": 3,
        "warmup": 1,
        "seed": 7,
        "batch_size": 32,
        "optimizer": "sgd",
        "learning_rate": 0.01,
        "bound_s": 0.2,
        "versions": {"tensorflow": "2.21.0"},
        "losses": (2.5, 2.0, 1.5),
        "events": (Event("0", "compute", "forward", 0.0, 0.1),),
    }
    return Trial(id=name, **(fields | changes))


_number = st.floats(allow_nan=True, allow_infinity=True)
_seconds = st.floats(min_value=0, max_value=1e6) | st.just(float("nan"))
_count = st.integers(min_value=-(2**63), max_value=2**63 - 1)
_node_bytes = st.none() | st.dictionaries(st.text(), _number, max_size=3)
_shards = st.lists(
    st.builds(ParameterServer, st.text(), st.booleans())
    | st.builds(AllReduce, st.none() | st.integers(0, 9), st.sampled_from(["none", "fp16"])),
    min_size=1,
    max_size=3,
)


@st.composite
def _strategies(draw: st.DrawFn) -> Strategy:
    names = draw(st.lists(st.text(), unique=True, max_size=3))
    variables = []
    for name in names:
        shards = tuple(draw(_shards))
        variables.append(VariableStrategy(name, shards, draw(st.integers(0, 3)) if len(shards) > 1 else None))
    return Strategy(tuple(variables), draw(st.integers(1, 9)), push_credit=draw(st.integers(0, 4)))


trials = st.builds(
    Trial,
    id=st.text(),
    created=st.text(),
    label=st.text(),
    model=st.text(),
    model_hash=st.text(),
    cluster=st.text(),
    cluster_hash=st.text(),
    launcher=st.text(),
    strategy=st.none() | _strategies(),
    status=st.sampled_from(["ok", "failed", "stopped"]),
    stage=st.text(),
    step_times_s=st.lists(st.lists(_seconds, min_size=1, max_size=3).map(tuple), max_size=3).map(tuple),
    setup_s=_number,
    total_s=_number,
    bytes_sent=_node_bytes,
    bytes_received=_node_bytes,
    steps=_count,
    warmup=_count,
    seed=_count,
    batch_size=_count,
    optimizer=st.text(),
    learning_rate=_number,
    bound_s=_number,
    versions=st.dictionaries(st.text(), st.text(), max_size=3),
    simulated=st.booleans(),
    error=st.text(),
    stderr_tail=st.text(),
    exit_code=st.none() | _count,
    losses=st.lists(_number, max_size=3).map(tuple),
    events=st.lists(st.builds(Event, st.text(), st.text(), st.text(), _number, _number), max_size=3).map(tuple),
)
"""Any trial that a runner, a simulator or a peer could record, and stranger ones."""
